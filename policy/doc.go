// Package policy decides which recipes to try for a kernel, and which to believe. It drives a search over the levers'
// table (lever.go, one file a lever), measures through a Session inside the user's running program, compiles through a
// Compiler, and hands decisions with their evidence to a Sink. It never touches a GPU, a compiler or the store itself: these come in as
// interfaces (kernel.go), so that everything here is tested on a simulated GPU.
//
// The room also tells people what was decided (report.go, explain.go), what could be decided without a GPU (predict.go)
// and how far it is (progress.go). cmd/gnvcc wires it up; nobody else calls it.
//
// What is believed, and when, is written down in policy/stats. How the search goes is written down in search.go.
package policy
