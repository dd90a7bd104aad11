// Package selection says which kernels a user means by a word. Every verb that takes a KERNEL asks
// it, so that a word means the same to all of them.
//
// Only cmd/gnvcc calls it. It reads names only, not the store.
//
// Files: selection.go what a word means, near.go names like it.
package selection
