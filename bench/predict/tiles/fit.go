package tiles

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"gnvcc/bench/lab"
	"gnvcc/rewrite/tile"
)

// A Result is one line of results.jsonl: the least times, microseconds.
type Result struct {
	ID             int
	Default, Tiled float64
	Equal          bool
}

// A trial is a launch and its result.
type trial struct {
	Launch
	speed     float64 // default's time over the tiled one's
	predicted float64
}

// grown are the forests: small ones, since the lever carries one.
var grown = Options{Trees: 24, Leaf: 20, Depth: 9, Seed: 1}

// Fit joins launches and results, and says how well a forest predicts when a tile pays.
func Fit(_ context.Context, args []string) error {
	set := flag.NewFlagSet("tile-fit", flag.ContinueOnError)
	grow := set.String("grow", "", "write a forest grown on all launches to this file")
	device := set.String("device", "", "what they were measured on")
	folds := set.Int("folds", 10, "parts of the kernels, each predicted by a forest of the others")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() != 1 {
		return fmt.Errorf("tile-fit: one folder, with launches.jsonl and results.jsonl")
	}
	trials, err := readTrials(set.Arg(0))
	if err != nil {
		return err
	}
	var rows []Row
	for _, t := range trials {
		rows = append(rows, Row{X: t.Features, Y: math.Log(t.speed), Group: t.Kernel})
	}
	said, err := Validate(tile.FeatureNames, rows, grown, *folds)
	if err != nil {
		return err
	}
	for i := range trials {
		trials[i].predicted = said[i]
	}
	table(trials)
	const below = 0.9
	few, faster, most := 0, 0, 0.0
	for _, t := range trials {
		if math.Exp(t.predicted) < below {
			few++
			if most = max(most, t.speed); t.speed > 1 {
				faster++
			}
		}
	}
	fmt.Printf("predicted below %g: %d launches; %d of them are faster, by %.2f at most\n", below, few, faster,
		most)
	if *grow == "" {
		return nil
	}
	f, err := Grow(tile.FeatureNames, rows, grown)
	if err != nil {
		return err
	}
	f.Device, f.Note = *device, "bench/predict"
	out, err := os.Create(*grow)
	if err != nil {
		return err
	}
	if err := f.Save(out); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// readTrials joins launches and results. A launch whose results differ is an error: a tile must not
// change a bit.
func readTrials(dir string) ([]trial, error) {
	launches, err := lab.ReadLines(filepath.Join(dir, "launches.jsonl"), func(l Launch) string {
		return fmt.Sprint(l.ID)
	})
	if err != nil {
		return nil, err
	}
	results, err := lab.ReadLines(filepath.Join(dir, "results.jsonl"), func(r Result) string {
		return fmt.Sprint(r.ID)
	})
	if err != nil {
		return nil, err
	}
	byID := map[int]Launch{}
	for _, l := range launches {
		byID[l.ID] = l
	}
	var out []trial
	for _, r := range results {
		l, ok := byID[r.ID]
		switch {
		case !ok:
			return nil, fmt.Errorf("result %d is of no launch that is listed", r.ID)
		case !r.Equal:
			return nil, fmt.Errorf("launch %d (%s, %s): other results with the tile", r.ID, l.Kernel, l.Recipe)
		case r.Default <= 0 || r.Tiled <= 0:
			return nil, fmt.Errorf("launch %d took %g and %g us", r.ID, r.Default, r.Tiled)
		}
		out = append(out, trial{Launch: l, speed: r.Default / r.Tiled})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no results in %s", dir)
	}
	slices.SortFunc(out, func(a, b trial) int { return a.ID - b.ID })
	return out, nil
}

// A score is how good decisions are: the share that is right, and what of the best performance is
// had on average (a wrong decision gives the ratio of the two times).
type score struct{ count, weighted float64 }

func judge(trials []trial, tile func(t trial) bool) (s score) {
	for _, t := range trials {
		switch right := tile(t) == (t.speed > 1); {
		case right:
			s.count++
			s.weighted++
		default:
			s.weighted += math.Min(t.speed, 1/t.speed)
		}
	}
	n := float64(len(trials))
	return score{s.count / n, s.weighted / n}
}

// table prints, for all patterns and each, what is gained and how well that was predicted for
// kernels that the forest had not seen.
func table(trials []trial) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w,
		"pattern\tlaunches\tfaster\tspeed-up: least\tmedian\tmost\tright\tweighted\tnever\talways")
	of := func(name string, list []trial) {
		if len(list) == 0 {
			return
		}
		var speeds []float64
		faster := 0
		for _, t := range list {
			speeds = append(speeds, t.speed)
			if t.speed > 1 {
				faster++
			}
		}
		slices.Sort(speeds)
		n := len(speeds)
		s := judge(list, func(t trial) bool { return t.predicted > 0 })
		never := judge(list, func(trial) bool { return false })
		always := judge(list, func(trial) bool { return true })
		fmt.Fprintf(w, "%s\t%d\t%.0f %%\t%.2f\t%.2f\t%.2f\t%.1f %%\t%.2f %%\t%.2f %%\t%.2f %%\n", name, n,
			100*float64(faster)/float64(n), speeds[0], speeds[n/2], speeds[n-1], 100*s.count,
			100*s.weighted, 100*never.weighted, 100*always.weighted)
	}
	of("all", trials)
	var names []string
	for _, p := range patterns {
		names = append(names, p.Name)
	}
	for _, name := range names {
		of(name, slices.DeleteFunc(slices.Clone(trials), func(t trial) bool {
			return t.Pattern != name
		}))
	}
}
