// Package tuner is a tuning run from its first to its last step: the program is observed and some
// of its launches captured, these are replayed and searched on, decisions go to the store, and what
// was built is built again.
//
// Run does all of it, for gnvcc tune. Who has captures already makes a
// ReplaySearch: Jobs says which are worth a search and with which share of the time, Search does
// them. Decisions, Compiler and Predictor are what verbs need of the same: decisions in the store,
// kernels that were built, recipes that are predicted. Nothing here reads flags or gives exit
// codes: cmd/gnvcc does, which calls this package, with policy/retune.
//
// A GPU is asked for (Request.GPU, ReplaySearch.GPU), so that a test can simulate one.
//
// Files: request.go what a run is asked for, run.go the run, observe.go the program's, confirm.go what the
// program says of recipes, accept.go what a command of the user's says of approximation, standing.go what
// need not be searched again, jobs.go which
// captures with which share, agenda.go in which order and for how long, replays.go the search on them,
// account.go what it cost and looked at, pieces.go the run's time by kernels, time.go how the budget is kept, memory.go where captures
// are unpacked, compiler.go kernels as policy wants them, decisions.go the store's decisions,
// rehearse.go a recipe by hand, predict.go recipes from machine code, machine.go this machine; work.go
// one kernel's search as a unit, spread.go such units on several GPUs, engines.go processes and Slurm.
package tuner
