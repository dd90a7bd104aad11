package lever

import (
	"slices"

	"gnvcc/rewrite/recipe"
)

// The recipes that only say where a thread's values are kept: in how many registers, and where the
// others go. They are read from machine code alone.

// OnRegisters tells whether a recipe is one of them, and not nvcc's own.
func OnRegisters(r recipe.Recipe) bool {
	return !r.IsDefault() && !slices.ContainsFunc(r.Terms, func(t recipe.Term) bool {
		return !t.HostOnly() && t.Lever != "maxnreg" && t.Lever != "smemspill" && t.Lever != "demote"
	})
}

// ToShared returns those that keep values in shared memory, for a launch.
func ToShared(s *Situation) []recipe.Recipe {
	return append(levers()["smemspill"].Try(s), levers()["demote"].Try(s)...)
}
