package policy

import (
	"gnvcc/cache"
	"gnvcc/policy/stats"
)

// What a run reports while it goes on; policy/report prints it.

// Progress is called with what a tuner does.
type Progress interface {
	Trying(k *Kernel, s Shape, doing string, candidates int)
	Tuned(k *Kernel, s Shape, o Outcome)
	Alone(k *Kernel, s Shape, reason string)
	Lost(k *Kernel, s Shape, err error)
	Note(text string)
}

// An Outcome is what tuning one configuration gave.
type Outcome struct {
	Recipe  string // "": nothing better was found
	Ratio   stats.Interval
	Before  cache.Time
	Tried   int // candidates compiled
	Run     int // of them, measured
	Refused int
	Other   int    // of the refused, for other bits
	Alone   string // why it was left alone after all
	Open    string // of the best that was measured, where it is not adopted: what it is, and why
}

// Silent prints nothing.
type Silent struct{}

func (Silent) Trying(*Kernel, Shape, string, int) {}
func (Silent) Tuned(*Kernel, Shape, Outcome)      {}
func (Silent) Alone(*Kernel, Shape, string)       {}
func (Silent) Lost(*Kernel, Shape, error)         {}
func (Silent) Note(string)                        {}
