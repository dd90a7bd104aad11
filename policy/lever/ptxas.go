package lever

import (
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// ptxas' own levels. A flag is the whole PTX file's: with several kernels in it, it is adopted only
// if it is right for all of them (decide/flags.go). -O1 and -O2 give other schedules and fewer
// transformations; --register-usage-level (0 to 10, 5 is the default) trades registers for
// instructions; -no-bb-merge keeps basic blocks apart, which shortens live ranges. On an H200 (CUDA
// 13.0) -O1 won for the first kernel of examples/planes (1.22 alone; the flag is the whole file's)
// and in cooling of HeCBench, level 8 in examples/stencil (1.06) and in aobench,
// --disable-optimizer-constants in jenkins-hash. Controls files are tried where the user gives some
// (Options.Controls).

var _ = register(Lever{
	Name: "ptxas", Idea: "ptxas with", Gain: 1.025,
	Try: func(s *Situation) []recipe.Recipe {
		out := terms("ptxas", "-O2", "-O1", "--register-usage-level=0", "--register-usage-level=3",
			"--register-usage-level=8", "--register-usage-level=10", "--dont-merge-basicblocks",
			"--disable-optimizer-constants")
		for _, hash := range s.Options.Controls {
			out = append(out, Term("ptxas", rewrite.Controls+"="+hash))
		}
		return out
	},
	Words: func(k *policy.Kernel, t recipe.Term) string {
		if hash, ok := strings.CutPrefix(t.Value, rewrite.Controls+"="); ok {
			return "ptxas with the controls file " + hash[:min(12, len(hash))]
		}
		return "ptxas with " + t.Value
	},
})
