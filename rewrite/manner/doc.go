// Package manner computes how the launch of a second entry differs from the launch that it replaces:
// other blocks, fewer of them, clusters, more shared memory.
//
// A recipe says it in words (rewrite.MannerOf). The host stub does it in a build, the tuner's agent in a
// replay; both, and what counts blocks or warps, use the arithmetic here. The package imports no other
// of ours.
package manner
