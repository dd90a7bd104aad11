// Command gnvcc takes nvcc's place on a command line, and makes the kernels that it builds faster.
//
// One program, three roles: nvcc's face (what users call), a stage (what nvcc calls in front of
// cicc, ptxas and nvlink, and sometimes of cudafe++ and the host compiler), and a verb of gnvcc's
// own (gnvcc tune, gnvcc report, ...).
//
// Reading the source: main.go (which role), verbs.go (all verbs, and what they have in common),
// kernels.go (what KERNEL means), terminal.go, json.go (how verbs print), signals.go; then a file
// a verb (tune.go, watch.go, profile.go, predict.go, stats.go, config.go, doctor.go, compare.go,
// judge.go, bench.go, export.go, import.go, lock.go, push.go, pull.go, forget.go, work.go,
// help.go), in which its nearest relatives stand, too: unpin, ban and unban in pin.go, apply,
// revert, status and clean in built.go, replay in captures.go, explain in report.go and patch.go.
package main
