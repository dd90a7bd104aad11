package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// quiet is how long people watch a terminal that says nothing.
const quiet = 2 * time.Second

// during says on a terminal what a verb is at, where that takes long. Who calls it calls what it
// gives when that is over. Lines in a pipe or a log are nobody's who waits.
func during(what string) (over func()) {
	if terminalWidth(os.Stderr) == 0 {
		return func() {}
	}
	return saidAfter(quiet, os.Stderr, what)
}

func saidAfter(wait time.Duration, w io.Writer, what string) (over func()) {
	t := time.AfterFunc(wait, func() { fmt.Fprintf(w, "gnvcc: %s ...\n", what) })
	return func() { t.Stop() }
}
