// Joules of whole runs, with a driver and a counter of the tests' own; of launches, as a store of
// the tests' own has them.

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/bench/energy"
	"gnvcc/cache"
)

// TestEnergy: with -energy gnvcc is asked for launches' joules, and both builds run in turn without
// the clock, the counter read around each run. What it can't tell is not said, and fails nothing.
func TestEnergy(t *testing.T) {
	dir, args := fake(t)
	libraries := filepath.Join(dir, "libraries")
	if err := os.Mkdir(libraries, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]string{"libcuda.so.1": "../energy/testdata/cuda.c",
		"libnvidia-ml.so.1": "../../profile/testdata/nvml.c"} {
		if out, err := exec.Command("gcc", "-w", "-shared", "-fPIC", "-o", filepath.Join(libraries, name),
			source, "-ldl").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	spent := filepath.Join(dir, "spent") // a joule a byte
	t.Setenv("LD_LIBRARY_PATH", libraries)
	t.Setenv("NVML_SPENT", spent)
	t.Setenv("NVML_STEP", "40") // longer than a run of "brief", which takes 10 ms or so
	row := `if [ "$FAST" ]; then row k 10 500000 50000 50000; else row k 10 1000000 100000 100000; fi` + "\n"
	for name, text := range map[string]string{
		"saves": `[ "$GNVCC_CLOCK" ] || sleep 1.2; [ "$FAST" ] && n=100 || n=300; head -c $n /dev/zero >> ` + spent,
		"brief": "true",
	} {
		write(t, filepath.Join(dir, "all/src", name+"-x", "main.cu"), ". ../common.sh\n"+row+text+"\n")
		makefile, err := os.ReadFile(filepath.Join(dir, "all/src/better-x/Makefile"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "all/src", name+"-x", "Makefile"), string(makefile))
	}
	d, trials := shaped()
	d.Evidence.Launches[0].Energy = &cache.Energy{Before: cache.Joules{Launch: 0.04, Error: 0.001},
		After: cache.Joules{Launch: 0.03, Error: 0.002}, Idle: 70, Step: 0.02}
	other := d.Evidence.Launches[0]
	other.Grid, other.Energy = [3]int{9, 1, 1}, &cache.Energy{Why: "not precise enough: 1.5 J a launch"}
	d.Evidence.Launches = append(d.Evidence.Launches, other)
	t.Setenv("DECIDED", remembered(t, d, trials...))
	names := filepath.Join(dir, "names")
	write(t, names, "saves\nbrief\nfails\n")
	// The command for a GPU is this, with a real nvcc, gnvcc and -clock left out.
	args = append(args[:len(args)-1], "-energy", "-pairs", "0", "-programs", names, args[len(args)-1])
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	results, err := readResults(filepath.Join(dir, "results.jsonl"))
	if err != nil || len(results) != 3 {
		t.Fatal(err, results)
	}
	for _, r := range results {
		e := r.Energy
		switch {
		case r.Program == "fails":
			if e != nil {
				t.Errorf("a program that failed has joules: %+v", e)
			}
			continue
		case r.Failed != "" || e == nil || len(e.Before) != 2 || len(e.After) != 2:
			t.Fatalf("%+v", r)
		case len(r.Tuned) != 2 || *r.Tuned[0].Energy != *d.Evidence.Launches[0].Energy ||
			*r.Tuned[1].Energy != *other.Energy || r.Tuned[0].Recipe != d.Recipe:
			t.Errorf("%s: of launches %+v", r.Program, r.Tuned)
		}
		switch {
		case r.Program == "brief":
			// One may happen to last as long as the counter's steps; all four of them don't.
			short := 0
			for _, x := range append(e.Before, e.After...) {
				if strings.Contains(x.Why, "not precise enough") && x.Joules == 0 {
					short++
				} else if x.Why != "" || x.Error > x.Joules/20 {
					t.Errorf("a run without length: %+v", x)
				}
			}
			if short == 0 {
				t.Errorf("runs without length are all precise: %+v", e)
			}
			continue
		}
		// and 50 W, for 1.2 s and what the shell takes
		for i, want := range []float64{300, 300, 100, 100} {
			if x := append(e.Before, e.After...)[i]; x.Why != "" || x.Joules < want+25 ||
				x.Joules > want+100 || x.Error <= 0 {
				t.Errorf("%+v, want %g and some more", x, want)
			}
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "work/logs/saves.tune"))
	if err != nil || !strings.Contains(string(log), "gnvcc tune --energy -- make") {
		t.Errorf("%s, %v", log, err)
	}
	table := table(results, 0, false)
	for _, want := range []string{"  joules of launches, recipe over nvcc's: 0.750 of them in geometric mean of 2\n",
		"0.750  0.04 J (give or take 0.001), then 0.03 (0.002): k, " + d.Recipe,
		"    not said of 2: not precise enough: ... J a launch\n"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	text := saving(results)
	if !strings.Contains(text, "geometric mean of 1 programs") ||
		!strings.Contains(text, "brief                    not said: not precise enough") {
		t.Error(text)
	}
	if text := saving([]Result{{}}) + perLaunch([]Result{{Tuned: []Tuned{{}}}}); text != "" {
		t.Errorf("nobody asked: %s", text)
	}
	if text := saving([]Result{{Program: "p", Energy: &Energy{Before: []energy.Run{{Joules: 4}},
		After: []energy.Run{{Joules: 1}, {Why: "so"}}}}}); !strings.Contains(text, "not said: so") ||
		!strings.Contains(text, "not said of any") {
		t.Error(text)
	}
}
