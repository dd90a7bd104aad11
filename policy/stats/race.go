package stats

import (
	"math"
	"sort"
)

// Successive halving among many candidates (Karnin, Koren, Somekh: Almost optimal exploration in
// multi-armed bandits, ICML 2013, gives the scheme; a third instead of a half, because kernel times
// of candidates lie far apart more often than close together).

// An Arm is one candidate of a race.
type Arm struct {
	ID    int // given to the Sampler
	Group int // its lever: the best of each group is kept while it looks better than the baseline
}

// A Standing is what a race found for one arm.
type Standing struct {
	Arm
	Ratio  float64 // median of time over the baseline's nearby; 0: not measured
	N      int     // launches measured
	Rounds int     // rounds survived
	Err    error   // the Sampler's, which ended this arm
}

// Race options that are not the rule's business.
type Options struct {
	// Stop is asked between arms; true ends the race with what is known (budget used up, program going
	// away).
	Stop func() bool
	// Fatal reports whether an error of the Sampler ends the race (the context is gone) and not
	// only the arm.
	Fatal func(error) bool
}

const (
	keepLast = 3   // arms of the last round: those that may be compared on fresh samples
	hopeless = 1.5 // slower than this at its first launches: dropped at once
	// a group's leader below this ratio survives: it may add something in a combination
	worthwhile = 0.99
	// arms between two baseline blocks: the clock drifts over milliseconds, not over six launches
	stride = 6

	long  = 5e6   // ns: from here on a launch costs more than what is learned by one more
	exact = 0.002 // standard error of an arm's median that is enough for ordering long ones
)

// Race measures arms and returns their standings, the best first; arms never reached stand last
// with N = 0. base are baseline times to begin with (nanoseconds): they give noise and costs.
func (r Rule) Race(sample Sampler, arms []Arm, base []float64, o Options) ([]Standing, error) {
	st := make([]Standing, len(arms))
	for i, a := range arms {
		st[i].Arm = a
	}
	alive := make([]int, len(arms))
	for i := range alive {
		alive[i] = i
	}
	ratios := make([][]float64, len(arms))
	noise, median := noise(base), Median(base)
	// First round: standard error of an arm's median (1.2533 s / sqrt(n)) of about 1.5 %, at least 3
	// launches, in at most half a comparison's time for all arms together, but always one launch each.
	n := int(math.Ceil(math.Pow(1.2533*noise/0.015, 2)))
	n = min(max(n, 3), 40)
	for n > 1 && float64(n*len(arms))*r.cost(median) > float64(r.Time.Nanoseconds())/2 {
		n--
	}
	// A kernel of 100 ms has hardly any noise, and a race of thirty such arms would take the whole
	// budget: fewer launches do.
	most, beside := 200, 3
	if r.cost(median) >= long && len(base) >= 3 {
		most = min(max(int(math.Ceil(math.Pow(1.2533*noise/exact, 2))), 1), 200)
		beside = min(most, 3)
		n = min(n, most)
	}
	var fatal error
	stop := func() bool { return fatal != nil || o.Stop != nil && o.Stop() }

	for round := 0; len(alive) > 0 && !stop(); round++ {
		local := 0.0
		for at, i := range order(alive, round) {
			if stop() {
				break
			}
			if at%stride == 0 || local == 0 {
				b, err := sample(Baseline, max(n, beside))
				if err != nil || len(b) == 0 {
					fatal = err
					return finish(st, ratios), fatal
				}
				local = Median(b)
			}
			times, err := probe(sample, st[i].ID, n, local, round == 0)
			for _, t := range times {
				ratios[i] = append(ratios[i], t/local)
			}
			st[i].N += len(times)
			if st[i].Err = err; err != nil && (o.Fatal == nil || o.Fatal(err)) {
				fatal = err
			}
			if err == nil {
				st[i].Rounds++
			}
		}
		if len(alive) <= keepLast {
			break
		}
		alive = survivors(alive, st, ratios)
		n = min(2*n, most)
	}
	return finish(st, ratios), fatal
}

// probe measures an arm n times; in the first round one launch goes ahead, and a second one to be
// sure, and who is hopeless is not launched again.
func probe(sample Sampler, arm, n int, local float64, first bool) ([]float64, error) {
	if !first || n < 3 {
		return sample(arm, n)
	}
	var times []float64
	for i := 0; i < 2; i++ {
		t, err := sample(arm, 1)
		times = append(times, t...)
		if err != nil {
			return times, err
		}
		if len(t) > 0 && t[0] < hopeless*local {
			t, err = sample(arm, n-len(times))
			return append(times, t...), err
		}
	}
	return times, nil
}

// order returns the arms in the order of this round: forward, then backward, then from the middle
// on, so that no arm is always behind the same neighbour.
func order(alive []int, round int) []int {
	out := make([]int, 0, len(alive))
	switch round % 3 {
	case 0:
		out = append(out, alive...)
	case 1:
		for i := len(alive) - 1; i >= 0; i-- {
			out = append(out, alive[i])
		}
	default:
		m := len(alive) / 2
		out = append(append(out, alive[m:]...), alive[:m]...)
	}
	return out
}

// survivors returns who goes on: the best third (at least keepLast), and the best of each group
// while it looks worthwhile; none that is clearly slower than the baseline.
func survivors(alive []int, st []Standing, ratios [][]float64) []int {
	type scored struct {
		i int
		r float64
	}
	var s []scored
	for _, i := range alive {
		if st[i].Err == nil && len(ratios[i]) > 0 {
			s = append(s, scored{i, Median(ratios[i])})
		}
	}
	sort.SliceStable(s, func(a, b int) bool { return s[a].r < s[b].r })
	keep := max(keepLast, len(s)/3)
	led := map[int]bool{}
	var out []int
	for rank, x := range s {
		leader := !led[st[x.i].Group] && x.r < worthwhile
		led[st[x.i].Group] = true
		slow := Quantile(ratios[x.i], 0.25) > 1.02
		if (rank < keep && !slow) || leader {
			out = append(out, x.i)
		}
	}
	// Groups' leaders must not keep a race from ending.
	if len(out) == len(alive) && len(out) > keepLast {
		out = out[:max(keepLast, len(out)/2)]
	}
	return out
}

func finish(st []Standing, ratios [][]float64) []Standing {
	for i := range st {
		st[i].Ratio = Median(ratios[i])
	}
	sort.SliceStable(st, func(a, b int) bool {
		x, y := st[a], st[b]
		if (x.N > 0 && x.Err == nil) != (y.N > 0 && y.Err == nil) {
			return x.N > 0 && x.Err == nil
		}
		// Who came further is known better: rounds first only where the ratios are close.
		if x.Rounds != y.Rounds && math.Abs(x.Ratio-y.Ratio) < 0.01 {
			return x.Rounds > y.Rounds
		}
		return x.Ratio < y.Ratio
	})
	return st
}
