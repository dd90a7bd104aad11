package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/tuner"
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
	if want := "5 kernels: 1 faster with a recipe, 1 best as nvcc builds them, 3 left alone"; !strings.Contains(
		said.String(), want) {
		t.Errorf("said %q; want %q", said.String(), want)
	}
	not := of("", 1)
	not.Withheld = "unroll=1 is faster where it was measured, but not everywhere"
	said.Reset()
	summary(&said, []decide.Result{of("", 2), not}, "nothing was compiled", time.Second)
	if want := "1 best as nvcc builds them, 1 with a recipe that is not adopted, 0 left alone"; !strings.Contains(
		said.String(), want) {
		t.Errorf("said %q; want %q", said.String(), want)
	}
}

// TestProposedStatus: status says of a recipe that no run of the program has confirmed it, and of no other.
func TestProposedStatus(t *testing.T) {
	d := cache.Decision{Recipe: "unroll=1", Evidence: cache.Evidence{Launches: make([]cache.Launch, 1)}}
	for _, said := range []*cache.InProgram{nil, {Recipe: "unroll=1", Gain: 2}} {
		d.Evidence.Program = said
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		brief, err := cache.Brief(raw)
		if err != nil || brief.Proposed() != (said == nil) {
			t.Errorf("proposed %v, with %v of the program: %v", brief.Proposed(), said, err)
		}
		var text strings.Builder
		statusText(&text, "", []apply.Output{{Output: "app", State: "as wanted", Kernels: []apply.Kernel{{Kernel: "k",
			Target: "sm_90", Recipe: "unroll=1", Wanted: "unroll=1", Proposed: brief.Proposed()}}}}, nil)
		if strings.Contains(text.String(), "unroll=1 (proposed)\n") != (said == nil) {
			t.Error(text.String())
		}
	}
}

// TestGraphsAlone: a run that spent its time in graphs whose kernels were not seen has used the GPU.
func TestGraphsAlone(t *testing.T) {
	text := shown(t, tuner.Found{Pieces: []policy.Piece{{Kernel: policy.OfGraphs, Seconds: 2, After: 2, Why: "it is wide"}}})
	if strings.Contains(text, "no kernel") || !strings.Contains(text, "nothing was searched") ||
		!strings.Contains(text, "it is wide") {
		t.Error(text)
	}
}

// TestWithheld: the table of tune has the reason why a recipe that won is not adopted.
func TestWithheld(t *testing.T) {
	text := shown(t, tuner.Found{Pieces: []policy.Piece{{Kernel: "k", Seconds: 2, After: 2}},
		Results: []decide.Result{{Kernel: policy.Kernel{Short: "k"}, Decision: &cache.Decision{}, Withheld: "it is narrow"}}})
	if !strings.Contains(text, "\n    not adopted: it is narrow\n") || !strings.Contains(text, "1 with a recipe that is not adopted") {
		t.Error(text)
	}
}

// shown is what tune prints at the end of a run.
func shown(t *testing.T, f tuner.Found) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	old := stderr
	stderr = &output{file: file}
	t.Cleanup(func() { stderr = old; file.Close() })
	found(f, talk{})
	said, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}
