// Package policy has the types of tuning: kernels, launches' values, options, bounds, trials, and the
// interfaces to what compiles, stores and reports. It never touches a GPU, a compiler or the
// store itself: these come in as interfaces (kernel.go), so that all packages here are tested on a
// simulated GPU (profile/profiletest).
//
// The packages below it; none imports one that comes later:
//
//	stats/, check/          when times count as faster, and results as equal
//	lever/                  which values of which lever are worth trying: a file each
//	decide/                 what is believed of a kernel when all that was found is in
//	report/, page/          text for people; what was decided, as one HTML file
//	search/                 one kernel: compile, check, race, compare, decide
//	predicted/, selection/  what can be said of a kernel without a GPU; kernels by name
//	edits/, watch/          which files have other content than they had; what an edit asks for
//	tuner/, compare/        a run of gnvcc tune; two builds compared
//	judge/, retune/         an edited kernel and the original; edited kernels tuned again
//
// cmd/gnvcc connects and calls them.
//
// Files: kernel.go what is given, describe.go what PTX and source tell of a kernel, values.go of a
// launch, options.go what the user allows, piece.go parts of a run's time, within.go errors and bounds, trial.go one candidate on
// one configuration, code.go what the GPU would execute, facts.go what levers find in PTX,
// progress.go what a run reports, text.go words
// for people.
package policy
