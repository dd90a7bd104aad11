// Package decide decides on each kernel at the end of a run: which recipes are eligible over all
// configurations, and the decision with its evidence. policy/stats says when a comparison counts.
//
// policy/search fills the findings in and calls it; policy/tuner reads results.
//
// Files: findings.go what a run found, notebook.go how that outlives the run, admit.go what may be
// measured and what is taken in a winner's place, settle.go the kernels of a run, choice.go
// eligible recipes, classes.go launches of one configuration that differ in work, decision.go what is written down,
// unmeasured.go launches that were not measured, asked.go programs that ask the driver about a kernel,
// passed.go why the best that was measured is not taken.
package decide
