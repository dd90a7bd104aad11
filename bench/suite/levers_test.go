package main

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/stats"
)

// remembered leaves a decision and its notebook in a store, as gnvcc tune does.
func remembered(t *testing.T, d cache.Decision, trials ...*policy.Trial) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	store, err := cache.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	l := d.Evidence.Launches[0]
	key := decide.Key(d.Identity, d.Evidence.Device, policy.Shape{Grid: l.Grid, Block: l.Block}, "")
	text, err := json.Marshal(decide.Notebook{Identity: d.Identity, Trials: trials})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.PutMemo("tuning", cache.Hash([]byte(key)), text); err != nil {
		t.Fatal(err)
	}
	owner, err := store.Own(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	if err := owner.Put("decision", d.Identity, d); err != nil {
		t.Fatal(err)
	}
	if err := owner.Publish(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shaped is a kernel of which shape=128x1x1 with a cap was kept.
func shaped() (cache.Decision, []*policy.Trial) {
	d := cache.Decision{Identity: "id", Kernel: "k",
		Recipe: "maxnreg=40 shape=128x1x1 spec{host(block)=256x1x1,host(dynamic)=0}"}
	d.Evidence = cache.Evidence{Device: "GPU", Untried: map[string]string{"unroll": "no loop",
		"shape": "void: tried around a winner"},
		Launches: []cache.Launch{{Grid: [3]int{8, 1, 1}, Block: [3]int{256, 1, 1}, Count: 10,
			Before: cache.Time{Median: 100e3}, After: cache.Time{Median: 60e3}}}}
	with := func(text string, ratio float64) *policy.Trial {
		return &policy.Trial{Text: text, Ratio: ratio}
	}
	spec := " spec{host(block)=256x1x1,host(dynamic)=0}"
	best := with("maxnreg=40 shape=128x1x1"+spec, 0.55)
	best.Confirmed = &policy.Compared{Ratio: stats.Interval{Estimate: 0.6, N: 10}}
	bits := with("unroll=4", 0)
	bits.Refused, bits.Because = "other bits: 3 words differ", cache.OtherBits
	same := with("maxnreg=64", 0)
	same.Same = "-"
	return d, []*policy.Trial{best, with("shape=128x1x1"+spec, 0.7), with("shape=64x1x1"+spec, 1.2),
		with("maxnreg=40", 0.9), with("hint@ld=cs", 0.99), bits, same,
		with("throttle=3"+spec, 0.8)}
}

// TestLevers: what was tried, refused and kept of each lever, and what would have been kept without
// it.
func TestLevers(t *testing.T) {
	d, trials := shaped()
	var r Result
	if err := r.count(remembered(t, d, trials...)); err != nil {
		t.Fatal(err)
	}
	if len(r.Tuned) != 1 || r.Tuned[0].Weight != 1e6 || r.Tuned[0].Ratio != 0.6 ||
		r.Tuned[0].Best != 0.6 {
		t.Fatalf("%+v", r.Tuned)
	}
	for name, want := range map[string]Lever{
		"shape":    {Tried: 3, Measured: 3, Alone: 0.7, Without: 0.8},
		"maxnreg":  {Tried: 3, Measured: 2, Refused: 1, Alone: 0.9, Without: 0.7},
		"throttle": {Tried: 1, Measured: 1, Alone: 0.8, Without: 0.6},
		"hint":     {Tried: 1, Measured: 1, Alone: 0.99, Without: 0.6},
		"unroll":   {Tried: 1, Refused: 1, Bits: 1, Without: 0.6},
		"spec":     {},
	} {
		want.Name = name
		if got := r.Tuned[0].lever(name); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	// Half of the program's time was not searched.
	r.Before, r.After = []int64{2e6}, []int64{16e5}
	s := sumOf([]Result{r}, "shape")
	if s.kernels != 1 || s.tried != 1 || s.adopted != 1 || s.refused != 0 ||
		math.Abs(s.with-2/1.6) > 1e-9 || math.Abs(s.without-2/1.8) > 1e-9 ||
		math.Abs(s.alone-2/1.7) > 1e-9 {
		t.Errorf("shape: %+v", s)
	}
	// not adopted, and 1 % is too little; without it all is as it is
	if s := sumOf([]Result{r}, "hint"); s.adopted != 0 || s.refused != 0 || s.alone != 1 ||
		s.without != s.with {
		t.Errorf("hint: %+v", s)
	}
	if s := sumOf([]Result{r}, "unroll"); s.tried != 1 || s.refused != 1 {
		t.Errorf("unroll: %+v", s)
	}
	text := leverTable([]Result{r})
	if !strings.Contains(text, "\nshape             1        1        1        0     1.250     1.111     1.176\n") {
		t.Errorf("%s", text)
	}
}
