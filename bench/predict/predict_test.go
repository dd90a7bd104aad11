package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/install/kits"
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
	// takes the third trial always
	x := way{"x", 0, func(k kernel) []float64 { return []float64{1, 0.9, 0.8, 0.95} }, nil}
	r := score(kernels, x)
	if r.picks != 2 || r.lose != 2 || math.Abs(r.gain+math.Log(1.2)+math.Log(1.3)) > 1e-12 {
		t.Errorf("%+v", r)
	}
	x.margin = 0.3 // 20 % predicted are too little: the default stays
	if r := score(kernels, x); r.picks != 0 || r.lose != 0 || r.gain != 0 {
		t.Errorf("%+v", r)
	}
	oracle := way{"oracle", 0, func(k kernel) []float64 {
		var out []float64
		for _, t := range k.trials {
			out = append(out, t.ratio)
		}
		return out
	}, nil}
	if r := score(kernels, oracle); r.picks != 1 || r.lose != 0 ||
		math.Abs(r.gain-math.Log(2)) > 1e-12 || r.third != 1 {
		t.Errorf("%+v", r)
	}
}

// TestReal builds two kernels' trials with real tools, from a report made up for them, and grows a
// forest.
func TestReal(t *testing.T) {
	kit := kits.Need(t, "13.0")
	dir := t.TempDir()
	gnvcc := filepath.Join(dir, "gnvcc")
	if msg, err := exec.Command("go", "-C", "../..", "build", "-o", gnvcc,
		"./cmd/gnvcc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	reports, stores := filepath.Join(dir, "reports"), filepath.Join(dir, "stores")
	for _, name := range []string{"stencil", "unroll"} {
		store := filepath.Join(stores, name)
		for _, folder := range []string{reports, store} {
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		build := exec.Command(gnvcc, "-arch=sm_90", "-std=c++17", "-I../../examples/common", "-cubin",
			"-o", filepath.Join(dir, name+".cubin"),
			filepath.Join("../../examples", name, name+".cu"))
		build.Env = append(os.Environ(), "GNVCC_NVCC="+kit.Nvcc(), "GNVCC_STORE="+store)
		if msg, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, msg)
		}
		if err := os.WriteFile(filepath.Join(reports, name+".json"), []byte(madeUp(t, store)),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	rows := filepath.Join(dir, "rows.jsonl")
	if err := run(context.Background(), []string{"-reports", reports, "-stores", stores, "-rows", rows}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 kernels of 2 programs, 8 trials", "2 others left out", "paper (Fig. 5, Eq. 3)",
		"left out: stencil, absent", "oracle"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if text, err := os.ReadFile(rows); err != nil || strings.Count(string(text), "\n") != 10 {
		t.Errorf("%v\n%s", err, text)
	}
}

// madeUp is a report on the first kernel of a store, and on one that was not built.
func madeUp(t *testing.T, dir string) string {
	t.Helper()
	store, err := cache.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.PublishSpooled(context.Background()); err != nil {
		t.Fatal(err)
	}
	built := record.Built(store)
	if len(built) == 0 {
		t.Fatal("nothing was built")
	}
	entry := func(identity, kernel string) string {
		return `{"decision":{"Identity":"` + identity + `","Kernel":"` + kernel +
			`","Target":"sm_90","Evidence":{"Device":"NVIDIA H200",
		"Launches":[{"Grid":[132,1,1],"Block":[128,1,1],"Dynamic":0,"Count":3,"Before":{"Median":9000}}],
		"Tried":[{"Recipe":"maxnreg=24","Ratio":1.5},{"Recipe":"maxnreg=64","Ratio":0.9},{"Recipe":"hint@ld=cs","Ratio":0.95},
		{"Recipe":"hint@st=cs","Ratio":0.99},{"Recipe":"unroll=4","Ratio":0.5}]}}}`
	}
	return "[" + entry(built[0].Identity, built[0].Name) + "," + entry("0", "absent") + "]"
}

// What gnvcc predict prints of trials predicted alike is what the rows say, and its picks are what
// docs/papers.md says of them: no goal of these is to be lost unseen.
func TestRecorded(t *testing.T) {
	folder := "../results/2026-11-22-predict/"
	both := folder + "hecbench-a.jsonl," + folder + "hecbench-b.jsonl"
	examples := "../results/2026-11-23-papers/examples.jsonl"
	all, err := read(both+","+examples, true)
	if err != nil {
		t.Fatal(err)
	}
	from := 0.0
	for _, below := range predict.ChanceBounds() {
		if got, want := chance(all, from, below), predict.ChanceOf(from); got != want {
			t.Errorf("predicted %g to %g: %v, the table says %v", from, below, got, want)
		}
		from = below
	}
	type picks struct {
		of, lose int
		share    float64 // of the oracle's gain
	}
	for files, want := range map[string]struct{ ours, paper picks }{
		folder + "hecbench-a.jsonl": {picks{16, 0, 0.78}, picks{28, 5, -0.09}},
		folder + "hecbench-b.jsonl": {picks{17, 1, 0.90}, picks{39, 7, 0.66}},
		examples:                    {picks{8, 2, 0.94}, picks{12, 3, 0.71}},
	} {
		kernels, err := read(files, true)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]result{}
		for _, x := range ways() {
			got[x.name] = score(kernels, x)
		}
		for name, want := range map[string]picks{"ours": want.ours, "paper (Fig. 5, Eq. 3)": want.paper} {
			r := got[name]
			if share := r.gain / got["oracle"].gain; r.picks != want.of || r.lose != want.lose ||
				math.Abs(share-want.share) > 0.005 {
				t.Errorf("%s: %s: %d picks, %d lose, %.3f of the oracle's gain", files, name, r.picks, r.lose, share)
			}
		}
	}
}
