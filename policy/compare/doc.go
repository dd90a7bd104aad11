// SPDX-License-Identifier: Apache-2.0

// Package compare compares two builds of the same kernels: recorded commands are
// run again with another toolkit, other options, or on another tree, and the kernels that come out
// are compared as machine code, and on captured launches, replayed in turn. It says which
// became slower. With policy/tuner and policy/retune it is where policy meets driver.
//
// Nothing of the user's is written: both builds go to a store of their own.
//
// cmd/gnvcc (compare) calls it, and has its words and exit codes.
//
// Files: way.go a way of building, tree.go a commit's tree, build.go recorded kernels built in two
// ways, code.go what their machine code says, shapes.go which launches were seen, replay.go launches
// replayed in turn, verdict.go what is said of a kernel, text.go the same for people; claims.go what
// a lock file says that recipes gain, baseline.go
// what a file in git says of machine code.
package compare
