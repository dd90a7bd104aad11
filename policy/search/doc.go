// Package search is a tuning run: profile's Decider, which is asked at every launch what to do with
// it, and the search over recipes at a launch that is stood still at. It compiles candidates, has
// them checked and measured, compares the best on fresh samples, and hands decisions to a Sink.
//
// policy/tuner and policy/retune make a Tuner and give it to profile; nobody else calls it.
//
// Files: tune.go the run, state.go how far its configurations are, search.go the order of a
// search, begin.go the default, first.go a first look at it, wait.go how long compiles are
// waited for, admit.go from recipe to a figure, confirm.go what is compared again, degrees.go
// approximation in some warps, judge.go alternatives for a judge, untried.go levers with
// nothing to try, replayed.go what differs where launches are replayed, pool.go compiles beside
// the measuring, cost.go what a search costs, meter.go step by step, count.go what a launch
// does, counted, predicted.go the
// order of values by their machine code, chance.go kernels that agree with themselves by chance,
// grace.go what the budget is exceeded for, ahead.go compiles that no search has asked for yet.
//
// admit.go and confirm.go stand here, and not in policy/decide, because they are steps at the
// stopped launch: they load, check, measure, and stop for a lost process or a spent budget, in the
// middle of every rule. The rules that need no measuring are policy/decide's (admit.go there),
// those about figures policy/stats'.
package search
