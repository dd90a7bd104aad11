// Package manner says how a second entry is launched otherwise than the launch in whose place it
// stands: in other blocks, in fewer of them, in clusters, with more shared memory.
//
// A recipe says it in words (rewrite.MannerOf). The host stub does it in a build, the tuner's agent
// in a replay, and whoever counts blocks or warps asks what they are then: all by the one
// arithmetic that stands here. The package imports nobody.
package manner
