package confirm

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"time"

	"gnvcc/policy"
	"gnvcc/profile"
)

// A Run is what one run of a program took on one model of GPU.
type Run struct {
	Device, Driver string
	Time           time.Time
	// seconds from the first launch to the end of the last process that used the GPU, without what
	// captures held it up
	Span    float64
	Kernels []Kernel
}

// A Kernel is all launches of one, those of its second entries included.
type Kernel struct {
	Identity string
	Short    string
	Recipe   string // that its build was made with, "" for nvcc's own
	Shapes   []Shape
}

// A Shape is its launches of one size.
type Shape struct {
	Grid, Block [3]int
	Entry       bool // of a second entry
	Count       int
	Sampled     int     // launches that were timed
	Seconds     float64 // all of them, estimated from those
	Spread      float64 // of one launch's time: standard deviation over mean; 0: not known
}

// Add enters launches of a kernel. Those of one size may come in parts.
func (r *Run) Add(k Kernel, s Shape) {
	i := slices.IndexFunc(r.Kernels, func(o Kernel) bool { return o.Identity == k.Identity })
	if i < 0 {
		i, r.Kernels = len(r.Kernels), append(r.Kernels, k)
	}
	of := &r.Kernels[i]
	of.Recipe = cmp.Or(of.Recipe, k.Recipe)
	for j := range of.Shapes {
		if o := &of.Shapes[j]; o.Grid == s.Grid && o.Block == s.Block && o.Entry == s.Entry {
			o.Count, o.Sampled, o.Seconds = o.Count+s.Count, o.Sampled+s.Sampled, o.Seconds+s.Seconds
			o.Spread = max(o.Spread, s.Spread)
			return
		}
	}
	of.Shapes = append(of.Shapes, s)
}

// Spread is the standard deviation of launches' times over their mean, by classes; 0: not known.
func Spread(classes []profile.Class) float64 {
	n, sum, squares := 0.0, 0.0, 0.0
	for _, c := range classes {
		n, sum = n+float64(c.Launches), sum+c.Seconds
		squares += float64(c.Launches) * c.Mean() * c.Mean()
	}
	if n == 0 || sum == 0 {
		return 0
	}
	mean := sum / n
	return math.Sqrt(max(squares/n-mean*mean, 0)) / mean
}

// kernel returns that of an identity, nil if it was not launched.
func (r *Run) kernel(identity string) *Kernel {
	for i := range r.Kernels {
		if r.Kernels[i].Identity == identity {
			return &r.Kernels[i]
		}
	}
	return nil
}

// Seconds is what all kernels took.
func (r *Run) Seconds() (sum float64) {
	for _, k := range r.Kernels {
		sum += k.seconds()
	}
	return sum
}

func (k *Kernel) seconds() (sum float64) {
	for _, s := range k.Shapes {
		sum += s.Seconds
	}
	return sum
}

func (k *Kernel) count() (n int) {
	for _, s := range k.Shapes {
		n += s.Count
	}
	return n
}

func (k *Kernel) sampled() (n int) {
	for _, s := range k.Shapes {
		n += s.Sampled
	}
	return n
}

// Timing noise of one launch: the GPU's, and of the events around it, seconds.
const noise, eventNoise = 0.02, 3e-6

// deviation is the standard error of seconds over seconds. Where all launches were timed only noise
// is left of it; where hardly any was, launches that differ in work count.
func (k *Kernel) deviation() float64 {
	sum := 0.0
	for _, s := range k.Shapes {
		if s.Sampled == 0 || s.Count == 0 {
			continue
		}
		one := max(noise, eventNoise/(s.Seconds/float64(s.Count)))
		missed := 1 - min(float64(s.Sampled)/float64(s.Count), 1)
		d := s.Seconds * math.Sqrt((s.Spread*s.Spread*missed+one*one)/float64(s.Sampled))
		sum += d * d
	}
	return math.Sqrt(sum) / max(k.seconds(), 1e-12)
}

// kept is how many runs of a program are remembered, and version that of the form.
const kept, version = 6, 1

type history struct {
	Version int
	Runs    []Run // the newest first
}

func key(program string) string { return "runs of " + program }

// Remembered are the runs of a program, the newest first.
func Remembered(m policy.Memory, program string) []Run {
	var h history
	if b, ok := m.Recall(key(program)); !ok || json.Unmarshal(b, &h) != nil || h.Version != version {
		return nil
	}
	return h.Runs
}

// Remember adds one. Of runs with the same recipes the newest on a GPU is enough; where there are
// too many, the oldest goes, but none with fewer recipes than all others.
func Remember(m policy.Memory, program string, r Run) error {
	if len(r.Kernels) == 0 {
		return nil
	}
	runs := slices.DeleteFunc(Remembered(m, program), func(o Run) bool {
		return o.Device == r.Device && o.recipes() == r.recipes()
	})
	runs = append([]Run{r}, runs...)
	for len(runs) > kept {
		last := len(runs) - 1
		if fewest := slices.MinFunc(runs, func(a, b Run) int { return a.applied() - b.applied() }); fewest.applied() == runs[last].applied() {
			last--
		}
		runs = slices.Delete(runs, last, last+1)
	}
	b, err := json.Marshal(history{version, runs})
	if err != nil {
		return err
	}
	return m.Remember(key(program), b)
}

// applied counts the kernels with recipes.
func (r *Run) applied() (n int) {
	for _, k := range r.Kernels {
		if k.Recipe != "" {
			n++
		}
	}
	return n
}

// recipes are those of its kernels as text, by which builds differ.
func (r *Run) recipes() string {
	var all []string
	for _, k := range r.Kernels {
		all = append(all, k.Identity+" "+k.Recipe)
	}
	slices.Sort(all)
	text, _ := json.Marshal(all)
	return string(text)
}
