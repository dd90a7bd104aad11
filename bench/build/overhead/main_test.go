package overhead

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gnvcc/bench/lab"
	"gnvcc/install/kits"
)

// compilers writes two fakes: an nvcc that makes the file behind -o, and a gnvcc that runs
// GNVCC_NVCC after a delay.
func compilers(t *testing.T, dir string) (nvcc, gnvcc string) {
	t.Helper()
	for name, text := range map[string]string{
		"nvcc":  "#!/bin/sh\nsleep 0.03\nfor a; do [ \"$last\" = -o ] && : > \"$a\"; last=$a; done\n",
		"gnvcc": "#!/bin/sh\n[ -d \"$GNVCC_STORE\" ] || { mkdir -p \"$GNVCC_STORE\"; sleep 0.06; }\nsleep 0.03\nexec \"$GNVCC_NVCC\" \"$@\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "nvcc"), filepath.Join(dir, "gnvcc")
}

func TestRun(t *testing.T) {
	kits.Long(t, "TestStatistics has the figures")
	dir := t.TempDir()
	nvcc, gnvcc := compilers(t, dir)
	for name, text := range map[string]string{
		"programs/plain/a.cu": "", "programs/plain/b.cu": "",
		"programs/made/Makefile": "all: out\nout: ../plain/a.cu\n\t$(NVCC) -o out\n",
		"programs/none/readme":   "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "raw.json")
	args := []string{"-gnvcc", gnvcc, "-nvcc", nvcc, "-rounds", "3",
		"-starts", "4", "-commit", "x",
		"-out", out, filepath.Join(dir, "programs")}
	if err := Run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var raw Raw
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	if len(raw.Programs) != 2 || raw.Machine.Commit != "x" || len(raw.Start.Face) != 4 {
		t.Fatalf("%s", text)
	}
	for _, p := range raw.Programs {
		// The fakes sleep: 30 ms nvcc, 30 more gnvcc, 60 more with an empty store. A busy machine can
		// only make that longer.
		want := map[string]float64{"nvcc": 0.03, "gnvcc known": 0.06, "gnvcc unit": 0.06, "gnvcc first": 0.12}
		if p.Failed != "" || len(p.Ways) != len(want) {
			t.Errorf("%+v", p)
		}
		for _, w := range p.Ways {
			if len(w.Wall) != 3 || len(w.CPU) != 3 {
				t.Errorf("%s, %s: not 3 rounds: %+v", p.Name, w, w)
			}
			if least := want[w.String()]; least == 0 || slices.Min(w.Wall) < least {
				t.Errorf("%s, %s: shorter than the fakes sleep, %v: %+v", p.Name, w, least, w)
			}
		}
	}
	for _, ms := range raw.Start.Face {
		if ms < 30 {
			t.Errorf("start: %v ms, shorter than the fake sleeps", ms)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "programs/made/out")); err == nil {
		t.Error("it built in the user's folder")
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	nvcc, gnvcc := compilers(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "Makefile"),
		[]byte("all:\n\t@echo no such header >&2; exit 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"which programs":               {"-gnvcc", gnvcc, "-nvcc", nvcc},
		"neither a Makefile":           {"-gnvcc", gnvcc, "-nvcc", nvcc, t.TempDir()},
		"is no program":                {"-gnvcc", "/no/gnvcc", dir},
		"at least 1":                   {"-rounds", "0", dir},
		"some of known, unit":          {"-gnvcc", gnvcc, "-nvcc", nvcc, "-stores", "full", dir},
		"1 of 1 programs could not be": {"-gnvcc", gnvcc, "-nvcc", nvcc, "-starts", "1", dir},
	} {
		if err := Run(context.Background(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

func TestStatistics(t *testing.T) {
	for _, c := range []struct {
		list []float64
		q, w float64
	}{{nil, 0.5, 0}, {[]float64{3}, 0.5, 3}, {[]float64{4, 1, 2}, 0.5, 2}, {[]float64{1, 2, 3, 4}, 0.5,
		2.5}, {[]float64{0, 10}, 0.95, 9.5}, {[]float64{1, 2}, 1, 2}} {
		if got := lab.Quantile(c.list, c.q); math.Abs(got-c.w) > 1e-9 {
			t.Errorf("%v: %v, want %v", c, got, c.w)
		}
	}
	same := [][]float64{{2, 2, 2}, {8, 8}}
	low, high := lab.Interval(same, lab.MeanOfMedians)
	if math.Abs(low-4) > 1e-9 || math.Abs(high-4) > 1e-9 {
		t.Errorf("%v to %v, of what does not vary", low, high)
	}
	varied := [][]float64{{1, 1.1, 0.9, 1.05, 0.95, 1, 1, 1.2, 0.8}}
	low, high = lab.Interval(varied, lab.MeanOfMedians)
	if low >= 1 || high <= 1 || low < 0.8 || high > 1.2 {
		t.Errorf("%v to %v", low, high)
	}
	if got := lab.Ratios([]float64{2, 9}, []float64{1, 3, 5}); !reflect.DeepEqual(got,
		[]float64{2, 3}) {
		t.Error(got)
	}
}
