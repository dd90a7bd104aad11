// Package lock reads and writes lock files: the recipes of a project's kernels as text, one line a
// kernel, for a team's git. It converts between the text and decisions of package cache; package driver
// checks recipes and their code. cmd and driver may call it.
//
// # The text
//
//	gnvcc lock 1
//	kernel=_Z6columnPf device="NVIDIA H200" target=sm_90 ptxas=13.0.88 recipe="maxnreg=255 unroll=8" exact=checked ...
//	end
//
// The first line has the format's version. Then one line a decision, its fields in a fixed order,
// each once:
//
//	kernel    mangled, without what depends on the file (ptx.StableName): for people; a build looks up by identity
//	device    the GPU model that it was measured on; empty: for any (a pinned recipe)
//	target    sm_90
//	ptxas     its version, 13.0.88
//	recipe    empty: nothing was better than nvcc's own there
//	exact     construction, or checked. Approximations have no line: they belong to who asked for them
//	checks    launches on which the results were compared, and varied ones: 5+2. 0+0: pinned by hand
//	gain      nvcc's own time over the recipe's; 0: not measured
//	time      of the decision, UTC
//	gnvcc     the version that decided
//	identity  what the kernel is, its target, ptxas and flags: the key (64 hexadecimal digits)
//	code      what must come out: see driver's code.go; "-" without a recipe
//	normal    "VARIANT" HASH: for each rewriting of the source that the recipe asks for, the PTX that must come out
//
// The last line says that nothing was cut off. Lines are sorted by kernel, device, target, ptxas
// and identity when they are written, and taken in any order, since git may merge two additions
// either way. Everything else has one spelling: a line is refused that would not be written as it
// stands.
package lock
