package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gnvcc/install/kits"
)

// A logged is the line of a tuning run in GNVCC_LOG.
type logged struct {
	Message                string
	Program, Held, Decided float64
	Captured               int64
	Rows                   []struct {
		Capture, Why string
		Seconds      float64
		Same         bool
	}
}

// TestReplayExhaustive: the benchmark mode works on captures alone, is noted in the decisions, and
// the log says what every capture came to.
func TestReplayExhaustive(t *testing.T) {
	kits.Long(t, "policy/search measures exhaustively on a simulated GPU")
	t.Log("the GPU is simulated")
	w := newWatched(t, "ld")
	log := filepath.Join(w.tmp, "log")
	cmd := exec.Command(w.Gnvcc, "replay", "--exhaustive", "--levers", "ld,st", "--budget", "60", "k(11|12)")
	cmd.Env, cmd.Dir = append(w.Env, "GNVCC_LOG="+log), w.Dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(log)
	w.must(err)
	var lines []logged
	for in := json.NewDecoder(bytes.NewReader(text)); in.More(); {
		var l logged
		w.must(in.Decode(&l))
		if l.Message == "tuned" {
			lines = append(lines, l)
		}
	}
	if len(lines) != 1 || len(lines[0].Rows) != 2 || lines[0].Decided <= 0 {
		t.Fatalf("%+v\n%s", lines, out)
	}
	for _, r := range lines[0].Rows {
		if !r.Same || r.Why != "" || r.Seconds < 10 || r.Capture == "" {
			t.Errorf("%+v", r)
		}
	}
	all := w.decisions()
	pairs := 0
	for _, d := range all {
		for _, l := range d.Evidence.Launches {
			if l.Exhaustive == nil {
				t.Errorf("%s: no word of the sweep: %+v", d.Kernel, l)
			} else if l.Exhaustive.Best.Cost.Candidates > l.Exhaustive.Search.Cost.Candidates {
				pairs++
			}
		}
	}
	if len(all) != 2 || pairs != 2 {
		t.Errorf("%d decisions, %d with candidates beyond the search\n%s", len(all), pairs, out)
	}
}
