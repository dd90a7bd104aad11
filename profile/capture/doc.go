// Package capture keeps launches that were captured in a program: the file that the agent writes
// and the replayer reads, its contents in a store of chunks by content, and the host that chooses
// which launches of a run to capture.
//
// Files: collect.go the host of a run, choose.go which launches, by family.go (grids that differ),
// course.go (times that change), judge.go (kernels that can't be tuned), limits.go; store.go the
// folder of raw.go files, manifest.go, edited.go and pack.go its content; profile.go what runs did, seen.go one run; words.go sets of values as text,
// turns.go buffers that change places.
//
// Callers: cmd/gnvcc lists and drops; policy/tuner, compare, retune and judge collect and
// read; profile/replay does captured launches again. The package imports profile alone.
package capture
