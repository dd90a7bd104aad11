package main

import (
	"io"
	"testing"
	"time"
)

// TestDuring: what takes long is said once, and what is over is not.
func TestDuring(t *testing.T) {
	r, w := io.Pipe()
	over := saidAfter(time.Hour, w, "nothing")
	over()
	defer saidAfter(time.Millisecond, w, "building the agent")()
	b := make([]byte, 100)
	n, err := r.Read(b)
	if err != nil || string(b[:n]) != "gnvcc: building the agent ...\n" {
		t.Errorf("%q, %v", b[:n], err)
	}
}
