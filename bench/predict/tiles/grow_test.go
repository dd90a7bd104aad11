package tiles

import (
	"bytes"
	"fmt"
	"math/rand/v2"
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
