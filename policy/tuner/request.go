package tuner

import (
	"context"
	"io"
	"os"
	"syscall"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/toolkit"
	"gnvcc/policy"
	"gnvcc/policy/confirm"
	"gnvcc/policy/decide"
	"gnvcc/profile"
)

// A Request is what a tuning run is asked for.
type Request struct {
	Store   *cache.Store
	Tools   toolkit.Toolkit
	Options policy.Options
	// with its arguments: it is observed, and captured launches are replayed when it has ended; none:
	// the search is on the captures that there are
	Program []string

	Budget       time.Duration // for all of the search
	Look         bool          // the program is observed, launches are captured, and nothing is searched
	Observe      time.Duration // how long the program is looked at; 0: as long as it runs
	CaptureLimit int64         // bytes of one captured launch; 0: the usual

	Apply   bool // build with what was found
	Confirm bool // the program is run to compare its recipes with nvcc's code, and nothing is searched

	On      Engine // who searches on captures; nil: this process
	NoGPU   bool   // this machine has none: On alone can search
	Signals Signals
	GPU     GPU             // nil: this machine's
	Listen  policy.Progress // nil: none
	// says what takes long, and gives what is called when it is over; may be nil
	During func(what string) (over func())
	// called with how far a search is; may be nil
	At func(n, of int, end time.Time)
	// called with what was found, before anything is built with it; may be nil
	Found func(Found)
	// called with what the program said of its recipes where it was run once more; may be nil
	Compared func([]confirm.Comparison)
	Stderr   io.Writer // what apply says
}

// Found is what a run gave.
type Found struct {
	Results  []decide.Result
	Notes    []string
	Compiled string // how often the tools ran
	Took     time.Duration
	Program  profile.Exit
	Observed string               // whose profile has most of the run; "": it launched nothing
	Pieces   []policy.Piece       // the run's time, by kernel
	Compared []confirm.Comparison // what the program said of its recipes
}

// Signals are what the user's signals mean while a program runs under us, and after that.
type Signals interface {
	// Tuning ends with the first signal that asks for an end; Rest with one after the program's end.
	Tuning() context.Context
	Rest() context.Context
	// Pass are the signals that the program is to get.
	Pass() <-chan os.Signal
	// ProgramEnded is called when signals are for us alone from now on.
	ProgramEnded()
	// Asked is the first signal that asked for an end, CutShort the first one after the program's
	// end; 0: none did.
	Asked() syscall.Signal
	CutShort() syscall.Signal
}
