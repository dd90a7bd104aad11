package rewrite

// The levers of the source stage; what carries them out is package rewrite/source, and driver, which runs cicc again.

var (
	_ = register(Pass{Lever: "unroll", Stage: Source, Exact: Checked, Sites: true, Doc: "unroll loops by a factor"})
	_ = register(Pass{Lever: "spec", Stage: Source, Exact: Checked, Doc: "a second entry for values that launches have, chosen by the host; the recipe is for that entry alone"})
	_ = register(Pass{Lever: "fastmath", Stage: Source, Exact: Approximate, Doc: "sin, cos, exp, log, pow in f32 by the special function units"})
	_ = register(Pass{Lever: "guard", Stage: Source, Exact: Checked, Doc: "a copy of the body for values that launches have, behind a guard inside the kernel"})
)
