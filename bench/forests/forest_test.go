package forests

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gnvcc/sim/forest"
)

// stairs is a function that trees are good at, with noise, and two features that mean nothing.
func stairs(n int, seed uint64) []Row {
	random := rand.New(rand.NewPCG(seed, 7))
	var rows []Row
	for i := range n {
		x := []float64{random.Float64(), random.Float64(), random.Float64(), random.Float64()}
		y := 0.0
		if x[0] > 0.5 {
			y = 1
		}
		if x[1] > 0.3 {
			y += 2 * x[1]
		}
		rows = append(rows, Row{x, y + 0.05*random.NormFloat64(), fmt.Sprint("p", i%9)})
	}
	return rows
}

var names = []string{"a", "b", "c", "d"}

func TestLearns(t *testing.T) {
	rows, unseen := stairs(600, 1), stairs(200, 2)
	f, err := Grow(names, rows, Options{Seed: 3, Features: 2})
	if err != nil {
		t.Fatal(err)
	}
	answers := make([]float64, len(unseen))
	mean := 0.0
	for n, r := range unseen {
		answers[n] = f.Predict(r.X)
		mean += r.Y / float64(len(unseen))
	}
	flat := make([]float64, len(unseen))
	for n := range flat {
		flat[n] = mean
	}
	if got, without := RMS(unseen, answers), RMS(unseen, flat); got > 0.2 || without < 0.6 {
		t.Errorf("error %.3f, of the mean %.3f", got, without)
	}
	checked, err := Validate(names, rows, Options{Seed: 3, Trees: 30, Features: 2}, 3)
	if err != nil || RMS(rows, checked) > 0.25 {
		t.Errorf("validated: %.3f, %v", RMS(rows, checked), err)
	}
}

func predict(t forest.Tree, x []float64) float64 {
	return (&forest.Forest{Trees: []forest.Tree{t}}).Predict(x)
}

// One tree on all rows with leaves of one row is exact where rows differ.
func TestOneTree(t *testing.T) {
	rows := []Row{{[]float64{1}, 5, ""}, {[]float64{2}, 7, ""}, {[]float64{3}, 9, ""}}
	g := grower{rows: rows, o: Options{Leaf: 1, Depth: 9, Features: 1},
		random: rand.New(rand.NewPCG(1, 1))}
	g.split([]int{0, 1, 2}, 0)
	for _, r := range rows {
		if got := predict(g.tree, r.X); got != r.Y {
			t.Errorf("%v: %g", r, got)
		}
	}
	if got := predict(g.tree, []float64{1.4}); got != 5 {
		t.Errorf("1.4: %g", got)
	}
}

func TestSame(t *testing.T) {
	rows := stairs(200, 1)
	var a, b, c bytes.Buffer
	for seed, w := range map[uint64][]*bytes.Buffer{1: {&a, &b}, 2: {&c}} {
		for _, to := range w {
			f, err := Grow(names, rows, Options{Seed: seed, Trees: 10})
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Save(to); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a.String() != b.String() {
		t.Error("the same seed gives two forests")
	}
	if a.String() == c.String() {
		t.Error("the seed does nothing")
	}
}

func TestLoad(t *testing.T) {
	f, err := Grow(names, stairs(100, 1), Options{Trees: 3})
	if err != nil {
		t.Fatal(err)
	}
	f.Device = "NVIDIA H200"
	var file bytes.Buffer
	if err := f.Save(&file); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	got, err := forest.Load(strings.NewReader(text), "NVIDIA H200", names)
	if err != nil || math.Abs(got.Predict([]float64{0.9, 0.9, 0, 0})-f.Predict([]float64{0.9, 0.9, 0,
		0})) > 0 {
		t.Errorf("%v", err)
	}
	for what, load := range map[string]func() (*forest.Forest, error){
		"another device": func() (*forest.Forest, error) { return forest.Load(strings.NewReader(text), "T4", names) },
		"other features": func() (*forest.Forest, error) {
			return forest.Load(strings.NewReader(text), "NVIDIA H200", names[:3])
		},
		"half a file": func() (*forest.Forest, error) {
			return forest.Load(strings.NewReader(text[:len(text)/2]), "NVIDIA H200", names)
		},
		"another version": func() (*forest.Forest, error) {
			return forest.Load(strings.NewReader(strings.Replace(text, `"Version":1`, `"Version":9`, 1)),
				"NVIDIA H200", names)
		},
		"an endless walk": func() (*forest.Forest, error) {
			return forest.Load(strings.NewReader(
				`{"Version":1,"Device":"x","Features":["a"],"Trees":[[{"Left":0,"Right":0},{"Left":1,"Right":1}]]}`), "x", []string{"a"})
		},
		"a child far away": func() (*forest.Forest, error) {
			return forest.Load(strings.NewReader(
				`{"Version":1,"Device":"x","Features":["a"],"Trees":[[{"Left":9,"Right":9}]]}`), "x",
				[]string{"a"})
		},
		"no trees": func() (*forest.Forest, error) {
			return forest.Load(strings.NewReader(`{"Version":1,"Device":"x","Features":["a"]}`), "x", []string{"a"})
		},
	} {
		if _, err := load(); err == nil {
			t.Errorf("%s passes", what)
		}
	}
	if _, err := Grow(names, []Row{{[]float64{1, 2, 3, math.NaN()}, 1, ""}, {[]float64{1, 2, 3, 4}, 1,
		""}}, Options{}); err == nil {
		t.Error("NaN passes")
	}
}
