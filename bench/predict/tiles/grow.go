package tiles

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"gnvcc/sim/forest"
)

// A Row is one example: features, and what is to be predicted. Rows of one group (one program) are
// never split between training and testing.
type Row struct {
	X     []float64
	Y     float64
	Group string
}

// Options say how to grow; zeroes are replaced by the defaults in the comments.
type Options struct {
	Trees    int // 100
	Leaf     int // fewest rows in a leaf: 3
	Depth    int // at most: 12
	Features int // looked at for each split: a third of all, one at least
	Seed     uint64
}

func (o Options) filled(features int) Options {
	if o.Trees <= 0 {
		o.Trees = 100
	}
	if o.Leaf <= 0 {
		o.Leaf = 3
	}
	if o.Depth <= 0 {
		o.Depth = 12
	}
	if o.Features <= 0 {
		o.Features = max(1, features/3)
	}
	o.Features = min(o.Features, features)
	return o
}

// Grow makes a forest. All rows must have a value for each feature.
func Grow(names []string, rows []Row, o Options) (*forest.Forest, error) {
	if len(rows) < 2 || len(names) == 0 {
		return nil, fmt.Errorf("grow a forest: %d rows of %d features are too few", len(rows), len(names))
	}
	for n, r := range rows {
		if len(r.X) != len(names) {
			return nil, fmt.Errorf("grow a forest: row %d has %d features, not %d", n, len(r.X), len(names))
		}
		for k, x := range append([]float64{r.Y}, r.X...) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("grow a forest: row %d, value %d is %g", n, k, x)
			}
		}
	}
	o = o.filled(len(names))
	f := &forest.Forest{Features: names, Rows: len(rows)}
	for n := range o.Trees {
		random := rand.New(rand.NewPCG(o.Seed, uint64(n)+1))
		sample := make([]int, len(rows))
		for i := range sample {
			sample[i] = random.IntN(len(rows))
		}
		g := grower{rows: rows, o: o, random: random}
		g.split(sample, 0)
		f.Trees = append(f.Trees, g.tree)
	}
	return f, nil
}

type grower struct {
	rows   []Row
	o      Options
	random *rand.Rand
	tree   forest.Tree
}

// split adds the node for a sample of rows, and all below it.
func (g *grower) split(sample []int, depth int) int {
	at := len(g.tree)
	mean := 0.0
	for _, i := range sample {
		mean += g.rows[i].Y
	}
	mean /= float64(len(sample))
	g.tree = append(g.tree, forest.Node{Value: mean})
	if depth >= g.o.Depth || len(sample) < 2*g.o.Leaf {
		return at
	}
	feature, where, ok := g.best(sample)
	if !ok {
		return at
	}
	var left, right []int
	for _, i := range sample {
		if g.rows[i].X[feature] <= where {
			left = append(left, i)
		} else {
			right = append(right, i)
		}
	}
	g.tree[at].Feature, g.tree[at].At = feature, where
	l := g.split(left, depth+1)
	r := g.split(right, depth+1)
	g.tree[at].Left, g.tree[at].Right = l, r
	return at
}

// best finds the split that leaves the least sum of squares, among some features.
func (g *grower) best(sample []int) (feature int, at float64, ok bool) {
	features := g.random.Perm(len(g.rows[0].X))[:g.o.Features]
	sort.Ints(features) // equal splits: the first feature wins
	least := math.Inf(1)
	order := make([]int, len(sample))
	for _, f := range features {
		copy(order, sample)
		sort.Slice(order, func(a, b int) bool {
			if x, y := g.rows[order[a]].X[f], g.rows[order[b]].X[f]; x != y {
				return x < y
			}
			return order[a] < order[b]
		})
		var sum, squares, all, allSquares float64
		for _, i := range order {
			all += g.rows[i].Y
			allSquares += g.rows[i].Y * g.rows[i].Y
		}
		n := float64(len(order))
		for k := 0; k+1 < len(order); k++ {
			y := g.rows[order[k]].Y
			sum += y
			squares += y * y
			x, next := g.rows[order[k]].X[f], g.rows[order[k+1]].X[f]
			l := float64(k + 1)
			if x == next || k+1 < g.o.Leaf || len(order)-k-1 < g.o.Leaf {
				continue
			}
			cost := squares - sum*sum/l + (allSquares - squares) - (all-sum)*(all-sum)/(n-l)
			if cost < least-1e-12 {
				middle := x + (next-x)/2
				if middle >= next { // no number in between
					middle = x
				}
				least, feature, at, ok = cost, f, middle, true
			}
		}
	}
	return feature, at, ok
}
