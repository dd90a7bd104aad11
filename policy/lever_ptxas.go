package policy

import "gnvcc/rewrite"

// ptxas' own levels. A flag is the whole PTX file's: with several kernels in it, it is adopted only if it is right for all of
// them (settle.go). -O1 and -O2 give other schedules and fewer transformations; --register-usage-level (0 to 10, 5 is the
// default) trades registers for instructions; -no-bb-merge keeps basic blocks apart, which shortens live ranges.

var _ = register(Lever{
	Name: "ptxas", Idea: "ptxas with", Gain: 1.025,
	Try: func(s *Situation) []rewrite.Recipe {
		var out []rewrite.Recipe
		for _, v := range []string{
			"-O2", "-O1",
			"--register-usage-level=0", "--register-usage-level=3", "--register-usage-level=8", "--register-usage-level=10",
			"--dont-merge-basicblocks", "--disable-optimizer-constants",
		} {
			out = append(out, term("ptxas", v))
		}
		return out
	},
})
