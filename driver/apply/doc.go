// Package apply runs the recorded compile commands again whose kernels are wanted otherwise than
// they were built, and puts their outputs in the old ones' place; it says what is built how, and
// forgets what is gone. Recorded commands can be tried, too, with nothing applied (Try).
//
// Callers: cmd/gnvcc (apply, revert, status, clean, watch).
//
// Reading the source: apply.go, state.go (what files hold now), pending.go (what is wanted
// otherwise), found.go (files that no command writes), rerun.go (a command run again), equal.go,
// place.go, status.go; builds.go and try.go (what gnvcc watch asks: which files a
// command read, and what it gives now).
package apply
