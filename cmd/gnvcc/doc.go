// Command gnvcc takes nvcc's place on a command line, and makes the kernels that it builds faster.
//
// One program, three roles: the wrapper (what users call), a stage (what nvcc calls in place of
// cicc, ptxas and nvlink, and sometimes of cudafe++ and the host compiler), and a verb of gnvcc's
// own (gnvcc tune, gnvcc report, ...).
//
// Reading the source: main.go (which role), verbs.go (all verbs, and what they have in common),
// help.go, kernels.go (what KERNEL means), terminal.go, json.go (how verbs print), signals.go; then
// tune.go (with work.go for workers), watch.go, predict.go, built.go (apply, revert, status), report.go and
// sources.go (report, explain), doctor.go (with config.go, storestats.go for --store), compare.go, judge.go,
// export.go, lock.go, push.go, pull.go, pin.go.
package main
