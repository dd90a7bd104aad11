// Package stage is gnvcc in front of one of nvcc's tools: it is called with the tool's command, applies
// the kernels' recipes, and records what was built.
//
// Callers: cmd/gnvcc, where its command line is a stage's (Of, Run); driver, which writes that command
// line (Word).
//
// Whatever goes wrong in here, the tool runs on the untouched input with the untouched arguments.
//
// Reading the source: stage.go, cicc.go, ptxas.go, nvlink.go, cudafe.go, host.go, reuse.go (what
// apply need not run again), module.go, beside.go
// (work while the tool runs), stop.go (a command that is tried), count.go.
package stage
