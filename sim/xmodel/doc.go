// Package xmodel balances a multiprocessor's memory system against its pipes: how many of the
// resident warps wait for memory, how many compute, and which of the two, or neither, keeps a
// kernel from being faster (Li, GPU performance modeling and optimization, thesis, 2016, chapter
// 3).
//
// One model is one kernel on one multiprocessor (SM). Its unit of work is a warp, of time a cycle,
// of memory traffic a sector of 32 bytes: a warp's uncoalesced access counts as the sectors that it
// touches, which the thesis leaves out and names as its main error.
//
// It is arithmetic alone and imports no package of ours; sim/predict, policy and cmd may call it.
//
// Files: model.go f, g and their parameters, balance.go equilibria, stability and what bounds,
// what.go two models compared.
package xmodel
