package tiles

import (
	"math"
	"sort"
)

// Validate predicts each group's rows by a forest that was grown on the other groups, and gives
// the answers in the rows' order. Groups beyond `folds` share a fold, dealt out in order of name;
// 0: one fold a group.
func Validate(names []string, rows []Row, o Options, folds int) ([]float64, error) {
	var groups []string
	seen := map[string]bool{}
	for _, r := range rows {
		if !seen[r.Group] {
			seen[r.Group] = true
			groups = append(groups, r.Group)
		}
	}
	sort.Strings(groups)
	if folds <= 0 || folds > len(groups) {
		folds = len(groups)
	}
	fold := map[string]int{}
	for n, g := range groups {
		fold[g] = n % folds
	}
	out := make([]float64, len(rows))
	for k := range folds {
		var train []Row
		for _, r := range rows {
			if fold[r.Group] != k {
				train = append(train, r)
			}
		}
		f, err := Grow(names, train, o)
		if err != nil {
			return nil, err
		}
		for n, r := range rows {
			if fold[r.Group] == k {
				out[n] = f.Predict(r.X)
			}
		}
	}
	return out, nil
}

// RMS is the root mean square of the differences.
func RMS(rows []Row, predicted []float64) float64 {
	sum := 0.0
	for n, r := range rows {
		d := r.Y - predicted[n]
		sum += d * d
	}
	return math.Sqrt(sum / float64(max(1, len(rows))))
}
