package main

import (
	"math"
	"os/exec"
	"strings"
	"testing"
)

// TestReplayEnergy: a search that is asked for joules leaves them in the decisions, and the report
// shows them; one that is not asked leaves none.
func TestReplayEnergy(t *testing.T) {
	t.Log("the GPU is simulated")
	w := newWatched(t, "ld")
	gnvcc := func(args ...string) string {
		cmd := exec.Command(w.Gnvcc, args...)
		cmd.Env, cmd.Dir = w.Env, w.Dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	counts := func() (with, without int) {
		for _, d := range w.decisions() {
			for _, l := range d.Evidence.Launches {
				if l.Energy == nil {
					without++
					continue
				}
				// 500 W, and what is left of a launch's time
				want := [2]float64{500 * l.Before.Median * 1e-9, 500 * l.After.Median * 1e-9}
				for i, got := range []float64{l.Energy.Before.Launch, l.Energy.After.Launch} {
					if l.Energy.Why != "" || math.Abs(got/want[i]-1) > 0.03 || l.Energy.Idle < 99 {
						t.Errorf("%+v, want %v", l.Energy, want)
					}
				}
				with++
			}
		}
		return with, without
	}
	gnvcc("replay", "--levers", "ld", "--budget", "60", "k11")
	if with, without := counts(); with != 0 || without != 1 {
		t.Errorf("not asked: %d launches with joules, %d without", with, without)
	}
	out := gnvcc("replay", "--energy", "--levers", "ld", "--budget", "60", "k11")
	if with, _ := counts(); with != 1 {
		t.Fatalf("%d launches have joules\n%s", with, out)
	}
	for _, args := range [][]string{{"report", "--all"}, {"report", "--all", "--json"},
		{"explain", "k11"}} {
		want := "mJ ±"
		if len(args) == 3 {
			want = `"energy": {`
		}
		if out := gnvcc(args...); !strings.Contains(out, want) {
			t.Errorf("%q: no %q\n%s", args, want, out)
		}
	}
}
