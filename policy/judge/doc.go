// Package judge says whether an edited kernel leaves what the original leaves, and how its machine code
// compares: on made-up or captured data, run by sim/emulate without a GPU, by profile/replay with one.
// An edit is untrusted code, perhaps written by a program, and may try to look right. So outputs are
// overwritten before it runs, blocks and warps run in several orders, what it keeps from one launch to
// the next is a difference, and what is outside of all buffers is a fault.
//
// Callers: cmd/gnvcc (judge), bench.
//
// Files: data.go numbers and launch.go arguments that are made up, captured.go those of a captured
// launch, difference.go memory compared, bench.go launches made ready, verdict.go an edit judged on
// them, replayed.go the same on a GPU; judging.go has edits compiled by the recorded command and judged,
// judgement.go is what is said of them.
package judge
