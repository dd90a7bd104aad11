package main

import (
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/policy/decide"
)

// TestSummary: a kernel is best as it is where that was measured, and nowhere else.
func TestSummary(t *testing.T) {
	of := func(recipe string, launches int) decide.Result {
		return decide.Result{Decision: &cache.Decision{Recipe: recipe,
			Evidence: cache.Evidence{Launches: make([]cache.Launch, launches), Note: "noted"}}}
	}
	var said strings.Builder
	summary(&said, []decide.Result{of("maxnreg=32", 1), of("", 2), of("", 0), of("", 0), {}},
		"nothing was compiled", time.Second)
	if want := "5 kernels: 1 can be faster, 1 best as nvcc builds them, 3 left alone"; !strings.Contains(
		said.String(), want) {
		t.Errorf("said %q; want %q", said.String(), want)
	}
}
