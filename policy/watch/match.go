package watch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"gnvcc/driver/apply"
)

// Kernels and captures. A kernel is found again after an edit by its place: the output that its
// command writes, the source file, its name, and the GPU that it is compiled for. What it is, its
// identity says.

// A Kernel is one as a command gives it.
type Kernel struct {
	Name, Identity string
	Source         string // the user's file
	CC             int    // what it is compiled for, 90 for sm_90 and sm_90a
	Cubin          string // hash of its module
	Reloc          bool   // -rdc=true: its module is made by a device link
}

// A Captured launch of a kernel, and where that kernel was built.
type Captured struct {
	apply.Place
	ID      string // of the capture
	Program string
	Kernel  string // its name
	CC      int    // of the GPU
	Device  string // "NVIDIA H200"
	Made    time.Time
	Weight  float64 // seconds of the program's run
}

// A place is where a kernel is looked for.
type place struct {
	output, source, kernel string
	cc                     int
}

func (c *Captured) place() place { return place{c.Output, c.Source, c.Kernel, c.CC} }

// A Job is a kernel to tune.
type Job struct {
	Kernel   Kernel
	Device   string
	Captures []string // their ids, the heaviest first
	// identities that the kernel had before, the last one first: their recipes are tried first
	Before []string
	Share  float64 // of its program's time
	Again  string  // why a kernel is tuned again that was not edited; "": it was
}

// on says what a job rests on: with the same a search would come to the same.
func (j *Job) on() string { return strings.Join(j.Captures, " ") + j.Again }

// A News is why a kernel is to be tuned again that is as it was captured; the zero value: it is
// not.
type News struct {
	Why string
	Run bool // on launches that are not captured: a run of the program brings them
}

// A Wait is a kernel that nothing can be done for now.
type Wait struct {
	Kernel, Source, Identity string
	Why                      string
	Run                      bool // a run of the program would help
	Share                    float64
}

// smallest is the share of a program's time below which a kernel is not searched, as in a run's
// tuning.
const smallest = 0.01

// newest leaves of the captures of one program in one place those of the kernel as it was captured
// last.
func newest(all []Captured) []Captured {
	type key struct {
		place
		program string
	}
	last := map[key]Captured{}
	for _, c := range all {
		k := key{c.place(), c.Program}
		if old, ok := last[k]; !ok || c.Made.After(old.Made) {
			last[k] = c
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c Captured) bool {
		return last[key{c.place(), c.Program}].Identity != c.Identity
	})
}

// A match is what is known of captures, ready for questions.
type match struct {
	at map[place][]Captured // the newest of each program, the heaviest first
	// identities that have captures of their own: what to do with them is tune's business
	known    map[string]bool
	totals   map[string]float64 // by program
	captured map[[2]string]bool // output and source: some kernel has captures
	beside   map[place]bool     // kernels that were in a captured module, launched or not

	world World
	news  map[string]News // of known kernels, as far as they were asked for
}

func newMatch(world World, all []Captured) *match {
	m := &match{world: world, news: map[string]News{},
		at: map[place][]Captured{}, known: map[string]bool{}, totals: map[string]float64{},
		captured: map[[2]string]bool{}, beside: map[place]bool{}}
	for _, c := range all {
		m.known[c.Identity] = true
	}
	counted := map[string]bool{}
	for _, c := range newest(all) {
		m.at[c.place()] = append(m.at[c.place()], c)
		m.captured[[2]string{c.Output, c.Source}] = true
		if !counted[c.ID] { // a project that was built in two folders has it twice
			counted[c.ID] = true
			m.totals[c.Program] += c.Weight
		}
		for _, name := range c.Beside {
			m.beside[place{c.Output, c.Source, name, c.CC}] = true
		}
	}
	for _, list := range m.at {
		slices.SortStableFunc(list, func(a, b Captured) int { return cmp.Compare(b.Weight, a.Weight) })
	}
	return m
}

// weight is what a command's kernels weigh, by their captures: commands are run again in this
// order.
func (m *match) weight(c Command) (sum float64, any bool) {
	for _, source := range c.sources() {
		any = any || m.captured[[2]string{c.Output, source}]
	}
	for _, k := range c.Kernels {
		for _, x := range m.at[place{c.Output, k.Source, k.Name, k.CC}] {
			sum += x.Weight
		}
	}
	return sum, any
}

// look says what a kernel of a command asks for: a job, a wait, or neither.
func (m *match) look(c Command, k Kernel) (*Job, *Wait) {
	p := place{c.Output, k.Source, k.Name, k.CC}
	list := m.at[p]
	wait := func(why string, share float64) *Wait {
		return &Wait{Kernel: k.Name, Source: k.Source, Identity: k.Identity, Why: why, Run: true,
			Share: share}
	}
	if k.Identity == "" {
		return nil, nil
	}
	if m.known[k.Identity] {
		list = slices.DeleteFunc(slices.Clone(list), func(x Captured) bool {
			return x.Identity != k.Identity
		})
		if len(list) == 0 {
			return nil, nil // it was captured later, as another
		}
		news, asked := m.news[k.Identity]
		if !asked {
			news = m.world.Stale(k, list)
			m.news[k.Identity] = news
		}
		job := m.job(k, list)
		switch {
		case news.Why == "" || job.Share < smallest:
			return nil, nil // without news it is tune's business
		case news.Run:
			return nil, wait(news.Why, job.Share)
		}
		job.Again = news.Why
		return job, nil
	}
	if len(list) == 0 {
		if !m.captured[[2]string{c.Output, k.Source}] || m.beside[p] {
			return nil, nil // its file was never tuned, or the program does not launch it
		}
		return nil, wait("no launch of a kernel of this name is captured", 0)
	}
	job := m.job(k, list)
	if job.Share < smallest {
		return nil, nil
	}
	if k.Reloc {
		return nil, wait("its module is made by a device link (-rdc=true)", job.Share)
	}
	return job, nil
}

// job is a kernel's on some captures. It weighs what the captures stood for in their programs.
func (m *match) job(k Kernel, list []Captured) *Job {
	job := &Job{Kernel: k, Device: list[0].Device}
	for _, x := range list {
		job.Captures = append(job.Captures, x.ID)
		job.Share += x.Weight / max(m.totals[x.Program], 1e-12)
		if !slices.Contains(job.Before, x.Identity) {
			job.Before = append(job.Before, x.Identity)
		}
	}
	return job
}
