// Package pass holds what the passes of package rewrite share: the kernel that a pass works on,
// with what is known of its launches (kernel.go, blocks.go), the limits that every launch has
// (limits.go), accesses to memory (accesses.go), and how PTX is written (text.go, bits.go). Package
// rewrite and the folders of its passes call it; it knows package ptx and recipes alone.
package pass
