// Package apply reruns the recorded compile commands whose kernels' recipes have changed, and replaces
// their outputs; it reports which recipe each file was built with, and drops records of files that are
// gone. Recorded commands can also be run without replacing anything (Try).
//
// Callers: cmd/gnvcc (apply, revert, status, doctor, watch).
//
// Reading the source: apply.go, state.go (what files hold now), pending.go (what is wanted
// otherwise), found.go (files that no command writes), rerun.go (a command run again), equal.go,
// place.go, status.go; builds.go and try.go (what gnvcc watch asks: which files a
// command read, and what it gives now).
package apply
