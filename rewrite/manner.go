package rewrite

import (
	"slices"

	"gnvcc/rewrite/manner"
	"gnvcc/rewrite/recipe"
)

// MannerOf is how a recipe for one second entry has it launched. What its throttling takes is known
// only with its machine code: Throttle says to how many blocks.
func MannerOf(r recipe.Recipe) manner.Manner {
	return manner.Manner{Block: Shape(r)}
}

// Launched tells whether one of a recipe's entries is launched otherwise than the kernel.
func Launched(r recipe.Recipe) bool {
	return slices.ContainsFunc(passes, func(p Pass) bool { return p.launch && Uses(r, p.Lever) })
}
