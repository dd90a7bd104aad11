package watch

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// The status as gnvcc watch --status prints it.

// A Status is one moment of a watch.
type Status struct {
	PID     int
	Version string
	Since   time.Time
	At      time.Time // of this moment
	Folders []string  `json:",omitempty"` // that were asked for

	Files, Watched int    // files, and the folders in which they are
	Swept          int    // folders that inotify does not tell of
	WhySwept       string `json:",omitempty"`
	Commands       int    // recorded ones that are watched

	Doing  []string `json:",omitempty"` // just now
	Paused string   `json:",omitempty"` // why nothing is done

	Waiting []Wait `json:",omitempty"`
	Failing []Fail `json:",omitempty"`
	// files of whose kernels no launch is captured, as they were built here
	Unobserved []Unobserved `json:",omitempty"`
	Done       []Done       `json:",omitempty"` // the last of them, the last one first

	Batches    int            // of edits
	Tried      int            // commands that were run again
	Tuned      int            // kernels
	Candidates map[string]int `json:",omitempty"` // measured, by kernel
	Idle       bool           // there is nothing left that could be done now
}

// An Unobserved is a file whose kernels wait for a first run.
type Unobserved struct {
	Source  string
	Kernels int
}

// A Fail is a command that can't be run again as its sources are now.
type Fail struct{ Command, Why string }

// A Done is a kernel that was tuned.
type Done struct {
	Kernel, Source, Identity string
	Recipe                   string // "": best as it is
	Ratio                    float64
	Launch                   float64 // what one takes without a recipe, seconds
	Candidates               int
	Why                      string `json:",omitempty"` // it was left alone, because
	When                     time.Time
	Took                     float64 // seconds since the edit was noticed
}

// kept is how many of the last kernels it lists.
const kept = 20

// status gives the moment; w.mu is held.
func (w *Watcher) status() Status {
	s := w.base
	s.At = time.Now()
	s.Commands = len(w.commands)
	for name := range w.doing {
		s.Doing = append(s.Doing, name)
	}
	slices.Sort(s.Doing)
	if s.Paused = w.paused[false]; s.Paused == "" {
		s.Paused = w.paused[true]
	}
	jobs, waits := w.work()
	for _, j := range jobs {
		why := "to be tuned"
		if j.Again != "" {
			why = "to be tuned again: " + j.Again
		}
		if s.Paused != "" {
			why = s.Paused
		}
		s.Waiting = append(s.Waiting, Wait{Kernel: j.Kernel.Name, Source: j.Kernel.Source,
			Identity: j.Kernel.Identity, Why: why, Share: j.Share})
	}
	s.Waiting = append(s.Waiting, waits...)
	for hash, why := range w.failing {
		s.Failing = append(s.Failing, Fail{w.commands[hash].Name, why})
	}
	s.Unobserved = w.unobserved()
	slices.SortFunc(s.Failing, func(a, b Fail) int { return strings.Compare(a.Command, b.Command) })
	s.Done = slices.Clone(w.last)
	s.Batches, s.Tried, s.Tuned = w.batches, w.tried, w.tuned
	s.Candidates = map[string]int{}
	maps.Copy(s.Candidates, w.measured)
	s.Idle = len(w.dirty) == 0 && len(w.doing) == 0 && len(jobs) == 0
	return s
}

// unobserved are the files of which no run was observed; w.mu is held.
func (w *Watcher) unobserved() (out []Unobserved) {
	kernels, observed := map[string]map[string]bool{}, map[string]bool{}
	for _, c := range w.commands {
		for _, k := range c.Kernels {
			if w.match.captured[[2]string{c.Output, k.Source}] || w.match.known[k.Identity] {
				observed[k.Source] = true // by one of its builds
				continue
			}
			if kernels[k.Source] == nil {
				kernels[k.Source] = map[string]bool{}
			}
			kernels[k.Source][k.Name] = true
		}
	}
	for source, names := range kernels {
		if !observed[source] {
			out = append(out, Unobserved{source, len(names)})
		}
	}
	slices.SortFunc(out, func(a, b Unobserved) int { return strings.Compare(a.Source, b.Source) })
	return out
}
