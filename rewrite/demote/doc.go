// Package demote is the lever demote: values kept in shared memory instead of registers. Package
// rewrite calls Apply; who chooses values asks Room how much there is.
//
// In this order: demote.go (the lever, what it writes), choose.go (which values), place.go (where
// loads and stores stand), spill.go (the same, by ptxas).
package demote
