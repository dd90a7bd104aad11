package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/sim/forest"
	"gnvcc/sim/predict"
)

func TestScore(t *testing.T) {
	k := func(ratios ...float64) kernel {
		var k kernel
		for _, r := range ratios {
			k.trials = append(k.trials, trial{ratio: r})
		}
		return k
	}
	kernels := []kernel{k(1, 0.5, 1.2, 0.9), k(1, 1.1, 1.3, 1.05)}
	x := way{"x", 0, func(k kernel) []float64 { return []float64{1, 0.9, 0.8, 0.95} }} // takes the third trial always
	r := score(kernels, x)
	if r.picks != 2 || r.lose != 2 || math.Abs(r.gain+math.Log(1.2)+math.Log(1.3)) > 1e-12 {
		t.Errorf("%+v", r)
	}
	x.margin = 0.3 // 20 % foretold are too little: the default stays
	if r := score(kernels, x); r.picks != 0 || r.lose != 0 || r.gain != 0 {
		t.Errorf("%+v", r)
	}
	oracle := way{"oracle", 0, func(k kernel) []float64 {
		var out []float64
		for _, t := range k.trials {
			out = append(out, t.ratio)
		}
		return out
	}}
	if r := score(kernels, oracle); r.picks != 1 || r.lose != 0 || math.Abs(r.gain-math.Log(2)) > 1e-12 || r.third != 1 {
		t.Errorf("%+v", r)
	}
}

// TestReal builds two kernels' trials with real tools, from a report made up for it, and grows a forest.
func TestReal(t *testing.T) {
	kit := kits.Need(t, "13.0")
	dir := t.TempDir()
	for _, name := range []string{"stencil", "unroll"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join("../../examples", name, name+".cu"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, name+".cu"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(abs(t, "../../examples/common"), filepath.Join(dir, "common")); err != nil {
		t.Fatal(err)
	}
	entry := func(kernel string) string {
		return `{"decision":{"Kernel":"` + kernel + `","Target":"sm_90","Evidence":{"Device":"NVIDIA H200",
		"Launches":[{"Grid":[132,1,1],"Block":[128,1,1],"Dynamic":0,"Count":3,"Before":{"Median":1000}}],
		"Tried":[{"Recipe":"maxnreg=24","Ratio":1.5},{"Recipe":"maxnreg=64","Ratio":0.9},{"Recipe":"ld=cs","Ratio":0.95},
		{"Recipe":"unroll=4","Ratio":0.5},{"Recipe":"maxnreg=32","Ratio":0}]}}}`
	}
	report := filepath.Join(dir, "report.json")
	text := "[" + entry("_Z4wavePKfPfiii") + "," + entry("_Z6lookupPKfPK7SectionS0_S0_Pfii") + "," + entry("absent") + "]"
	if err := os.WriteFile(report, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	file := filepath.Join(dir, "forest.json")
	if err := run(context.Background(), []string{"-report", report, "-examples", dir, "-nvcc", kit.Nvcc(), "-grow", file}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 kernels, 6 trials", "2 others left out", "left out: absent", "oracle"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := forest.Load(f, "NVIDIA H200", predict.Features); err != nil {
		t.Error(err)
	}
}

func abs(t *testing.T, path string) string {
	t.Helper()
	a, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
