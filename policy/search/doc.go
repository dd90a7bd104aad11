// Package search searches for recipes on captured launches: it compiles candidates, has them
// checked and measured, compares the best on fresh samples, and decides.
//
// A Run has the kernels of a tuning run. Its caller (policy/tuner's ReplaySearch) replays a capture
// and calls Search while the launch stands still, then Vary on varied data; Config says what became
// of it; Finish decides. An error of Search is a process that a candidate has crashed: the caller
// starts another one and calls again.
//
// Files: run.go the run, config.go what is known of a configuration, visit.go what one call does,
// search.go the order of a search, begin.go the default, first.go a first look at it, wait.go how long
// compiles are waited for, admit.go from recipe to a figure, confirm.go what is compared again,
// confine.go what did not run in a checked launch, untried.go levers with nothing to try, pool.go
// compiles during the measuring, also those that no search has asked for yet, cost.go what a search
// costs, count.go what a launch does, counted, chance.go kernels that agree with themselves by chance,
// unsteady.go those whose results differ from run to run.
//
// admit.go and confirm.go stand here, and not in policy/decide, because they are steps at the
// stopped launch: they load, check, measure, and stop for a lost process or a spent budget, in the
// middle of every rule. The rules that need no measuring are policy/decide's (admit.go there),
// those about figures policy/stats'.
package search
