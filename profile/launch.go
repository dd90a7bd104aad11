package profile

// What the caller of Run sees: processes, launches, and a session during which one launch can be
// repeated at will.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gnvcc/rewrite/manner"
)

// TooLarge is the agent's reason for leaving a launch alone that no later attempt will do away
// with.
const TooLarge = "the launch reaches more memory than a capture may have"

// TooSlow and NoRoom are others, which end when more time or another run is given.
const (
	TooSlow = "reading the memory that the launch reaches takes longer than a capture may hold the program up"
	NoRoom  = "the size limit for captures is reached"
	// Unwanted is behind the launch: the next one may be what Order.Want says
	Unwanted = "the launch does not take what was asked for"
)

// A Host decides about the launches of a run: of a program that is observed (profile/capture), or of
// a process that replays a launch (profile/replay). Calls about one process never overlap; calls
// about two processes of the same application may. Start and End may be nil.
type Host struct {
	// Start reports a process that has loaded the CUDA driver.
	Start func(p *Process)

	// Launch is called at the first launch of a configuration (kernel, grid, block, dynamic shared
	// memory) in a process, and again at the launch that it named last: the again-th one with these
	// values from then on, 0: never again about this configuration. Until it returns, the
	// application's thread that launches waits. ctx ends when the run is to end.
	Launch func(ctx context.Context, l *Launch, h Held) (again int)

	// Written reports that the file of a capture that was made (Captured.Why is empty) is complete, or
	// why it is not, and was removed. What it was not called for when the process ends never is. May be nil.
	Written func(p *Process, path string, bytes int64, why string)

	// End is the last call about a process: it has ended, or its agent has signed off.
	End func(p *Process, s Summary)
}

// Held is what can be done with a launch that waits: one of these, once. An error is the reason why
// it is not done (Launch.LeaveAlone, no memory for a copy, ...), ErrGone where the process has ended.
type Held struct {
	// Capture has the launch written to a file (profile/capture), and returns when it has been done. For
	// the application that only takes time: its memory is read, no more. The file is complete later
	// (Host.Written): most of it is copied within the device, and written while the program runs on.
	Capture func(o Order) (Captured, error)

	// Session calls use with the device idle and all memory saved, which is put back afterwards; then
	// the launch goes on. long is the longest time for one run of the kernel, 0: Options.Limit. For
	// replays alone (Options.Replay).
	Session func(long time.Duration, use func(s Session)) error
}

// An Order asks for a capture.
type Order struct {
	Path  string // the file to make
	Limit int64  // of the memory that the launch may reach, of what is not zero, bytes
	Room  int64  // of the file, bytes; 0: any
	// how long the program may stand still while memory is read; 0: as usual
	Stand time.Duration
	// how long files are waited for when the program ends; less than two seconds: as usual
	Patience time.Duration
	// seconds that the launch is to take, one of these, or it is not kept: what it takes is known behind
	// it; none: whatever it takes
	Want []Span
}

// A Span is from the least to the most seconds.
type Span struct{ Least, Most float64 }

// Captured is how a capture ended.
type Captured struct {
	Why   string // it was given up while the launch ran, or behind it, and there will be no file; "": it is read
	Bytes int64  // of the memory that it reaches, in chunks that are not zero
	// that the application stood still: before the launch, and from its end. Work of its own on the
	// device that had to end first does not count: the device was not idle
	Before, After time.Duration
	// that the launch took on the device, cold and with the device to itself: some microseconds more
	// than the kernel; 0: not known, as of a configuration's first launch
	Took time.Duration
}

// A Process is one process of the application that uses the GPU.
type Process struct {
	PID     int
	Program string // path of its executable
	Driver  int    // CUDA version of the driver, 13000 for 13.0
	CUPTI   int    // version of CUPTI in use, as cuptiGetVersion gives it
	// why the agent can do nothing in it (another profiler, an old driver); "": all is well
	Trouble string
}

// A Device is a GPU as the driver describes it.
type Device struct {
	Ordinal             int
	Name                string // "NVIDIA H200"
	UUID                string // hex
	Major, Minor        int    // compute capability
	Multiprocessors     int
	Memory              int64 // bytes
	L2                  int   // bytes
	RegistersPerSM      int
	SharedPerSM         int // bytes
	SharedPerBlock      int // bytes, with the opt-in
	ThreadsPerSM        int
	ClockKHz, MemoryKHz int
}

// A Shape is how a kernel is launched.
type Shape struct {
	Grid    [3]int `json:"grid"`
	Block   [3]int `json:"block"`
	Dynamic int    `json:"dynamic"` // dynamic shared memory, bytes
}

// A Launch is one launch of a kernel, about to happen.
type Launch struct {
	Process *Process
	Device  *Device

	Kernel    string // mangled name
	Cubin     string // SHA-256 of the module's cubin, lower-case hex; "" when its cubin is not known
	CubinPath string // a file with that cubin, until Run returns

	Shape
	Count int // how many times this configuration was launched in the process, this one included

	// what tells the sets of values apart, in the agent's form (Sets); empty where nobody observes
	Values   []byte
	Set      string  // which of several sets of values; "": there is one, or they count as one
	Cold     bool    // where it is replayed: it is timed with an empty L2 cache
	Arrays   [2]int  // in so many of those that it reads variations put other numbers, and all
	Unlike   float64 // where it is replayed: how far its time is from the program's, 0: near
	Unsteady string  // where it is replayed: how what it leaves differs from run to run, ""  if it was not seen to
	// where it is replayed: its time does not tell whether the program's launches find their data in
	// the L2 cache, and a candidate's gain may depend on that
	Either bool
	// the program does it in a row, many times
	Repeats bool
	// where it is replayed, and what launches take changes along the run: the part of the time of all
	// of them that it stands for; 0: they are alike
	Part float64
	// where it is replayed: which capture it is, and seconds that it took in the program, 0: not known
	Capture string
	Took    float64
	// the arguments of the launch directly before it in the process, where that was one of the same
	// configuration; nil: it was another, or there was none
	Prior []byte
	// what was counted of its configuration in this process, as of now; nil: nothing yet
	SoFar *Seen

	Attributes     // of the kernel as the application loaded it
	MaxDynamic int // the dynamic shared memory that the application allowed it, bytes
	Params     []Param
	// the program asks the driver how many registers the kernel has, or how many of its blocks fit;
	// known at the process' end
	Asked            bool
	Others           bool     // other launches of the configuration are cooperative, or in clusters
	LaunchAttributes []string // of cuLaunchKernelEx, by name
	// the program launches it past its host stub (as a graph's node, as cooperative, with
	// attributes): what is built for it is the kernel itself, never a second entry
	Past bool

	// LeaveAlone says why this launch can't be repeated in a replay ("" when it can): capture into a
	// graph, a kernel that launches others, ...
	LeaveAlone string

	Saving time.Duration // what a session took to copy memory aside
	Bytes  int64         // of all live allocations

	id     uint32 // the agent's number for the configuration
	module *module
}

// Model is that of the GPU that a launch is for, "" where it is not known.
func (l *Launch) Model() string {
	if l.Device == nil {
		return ""
	}
	return l.Device.Name
}

// Together tells whether the launch fails where fewer of the kernel's blocks are resident at a time
// than the program counts on: as cooperative, or in clusters.
func (l *Launch) Together() bool {
	return l.Others || slices.Contains(l.LaunchAttributes, "cooperative") ||
		slices.Contains(l.LaunchAttributes, "cluster dimension")
}

// Attributes of a loaded function, read back from the driver.
type Attributes struct {
	Registers  int // per thread
	Shared     int // static, bytes per block
	Local      int // bytes per thread (spills and stack)
	Const      int // bytes of user constants
	MaxThreads int // the largest block that can be launched
	Binary     int // 90 for sm_90
	PTX        int // PTX version it was compiled from, 90
}

// A Param is one parameter of a kernel, at the offset that the driver gives it.
type Param struct {
	Offset, Size int
	Value        []byte // in this launch
	// Same has a byte per byte of Value: 1 where it had the same value in all launches of this
	// configuration so far.
	Same []byte
	// Align is, for parameters of 8 bytes, the number of low zero bits that all values so far had in
	// common (64: all were 0): an alignment if it is a pointer.
	Align int
}

// An Unseen is what graphs took as a whole that were not launched node by node, for one reason.
type Unseen struct {
	Program  string  // that launched them
	Why      string  `json:"why"`
	Launches int     `json:"launches"`
	Seconds  float64 `json:"seconds"` // on the device, all of them; estimated from those that were timed
}

// A Summary is what a process launched in all.
type Summary struct {
	Kernels []Seen
	Graphs  int // graph launches: their kernels are not seen one by one
	// what graphs took whose kernels were never launched one by one, by reason
	Unseen []Unseen
	Calls  []Call // that copy, allocate and wait
	// launches directly behind others
	Follows []Follow
	Peak    int64 // the most device memory that it had allocated at a time, bytes
	// false: the process ended without a word (crash, _exit, kill), the last counts may be missing
	Whole bool
	Notes []string
}

// Seen is one launch configuration with its count over the process' life.
type Seen struct {
	Launch *Launch // as at its first launch, with Count, Same and Align brought up to date
	// Varied counts the launches whose arguments differed from the first one's.
	Varied int
	// Seconds is what all its launches took on the device, estimated from those that were timed
	// (Options.Observe): too much by some microseconds for each launch that the device waited for.
	// Sampled counts those; 0: none was.
	Seconds float64
	Sampled int
	Classes []Class // of the same by time, the shortest first; none: not known
	Sets    Sets    // of argument values; their counts and seconds add up to the above
	Rows    int     // launches of the process' that came directly behind one of these

	// Watched are seconds of launches that were timed in a row; during Beside of them another stream's
	// launch of these ran.
	Watched, Beside float64
}

// A Candidate is a loaded build of the kernel under tuning.
type Candidate int

// Original is the kernel as the application loaded it.
const Original Candidate = 0

// A Session repeats one launch. Every run starts from memory as it was before the launch, with the
// application's own arguments, launch attributes and stream; __device__ and __constant__ variables
// of a candidate get the original's values first.
//
// After a *Fault, ErrHung or ErrGone nothing more can be done in this process: every call gives the
// same error.
type Session interface {
	// Golden runs the original and keeps what it wrote: Check compares with that. It can be called
	// again.
	Golden() (Written, error)

	// Load loads a cubin and finds an entry in it, which takes the kernel's parameters; "" is the
	// kernel's own name. A *CandidateError means that the driver refused it.
	Load(path, entry string) (Candidate, Attributes, error)

	// LoadAs is Load for a candidate that is launched in another way. An error where the launch can't
	// be done in that way: the program would not do it either.
	LoadAs(path, entry string, m manner.Manner) (Candidate, Attributes, error)

	// Unload gives a candidate's memory back. Those that are still loaded when the session ends are
	// unloaded then.
	Unload(c Candidate) error

	// Measure runs c n times (after Golden, if that was not called yet) and gives each run's time in
	// nanoseconds, by events on the application's stream, with the device's queue filled first so that
	// the host's speed does not show. Resolution about 32 ns, overhead of the order of 1 µs.
	Measure(c Candidate, n int, o Measurement) ([]float64, error)

	// Check runs c once and compares all memory (allocations, pinned host memory, variables of the
	// module) with what the original left. Check(Original) tells whether the kernel is deterministic.
	// Calls Golden first if need be.
	Check(c Candidate) (Difference, error)

	// CheckUnder is Check with the run under another schedule: what a kernel leaves may depend on
	// which of its threads comes first.
	CheckUnder(c Candidate, o Schedule) (Difference, error)

	// Read gives a variable of the candidate's own module, as its runs have left it; its size has to
	// be known. The original has none.
	Read(c Candidate, variable string, size int) ([]byte, error)
}

// A Schedule is how the threads of a run come to their turns otherwise. The code that runs, its
// arguments, variables and memory are the same.
type Schedule struct {
	Cold bool // the L2 cache is emptied before
	// bytes of dynamic shared memory on top of what there is otherwise, so that fewer blocks are
	// resident: for kernels that don't read how much they have, and whose blocks don't wait for each
	// other
	Dynamic int
}

// A Measurement says how to measure.
type Measurement struct {
	// empty L2 before each run; else it holds what the last copies left there, alike for all
	// candidates
	Cold bool
	// the other of the two states, where a replay chose one (Launch.Either, Launch.Repeats)
	Other bool
	// each timed run comes behind others of its own, and takes up their results, as in a row of
	// launches: for kernels alone whose addresses don't depend on what they write
	Again bool
	// what the last of these is given, and each second one before it: programs take turns with
	// buffers; nil: the launch's own arguments
	Prior []byte
	Row   int // how many there are, 0: one
}

// before is what a run finds in the cache, as the agent has it (agent/source/measure.c).
func (m Measurement) before() uint8 {
	switch {
	case m.Again:
		return 2
	case m.Cold:
		return 1
	}
	return 0
}

// Written is what the original changed.
type Written struct {
	Allocations int       // how many of them it wrote to
	Bytes       int64     // in chunks of 1 MiB that differ: what is put back before each run
	Time        float64   // of that run, ns
	Where       []Stretch // the chunks that differ
}

// A Stretch is a piece of device or host memory, or of a variable.
type Stretch struct {
	Address uint64
	Size    int64 // bytes
}

// A Difference is the outcome of a comparison.
type Difference struct {
	Same  bool
	Words int64 // 4-byte words that differ

	// The first one that differs; where none does, and it is not the same: "what it printed".
	Where     string // "allocation 3 (cuMemAlloc)", "variable counters"
	Address   uint64
	Size      int64  // of that allocation, bytes
	Offset    int64  // of the word, bytes
	Want, Got uint64 // up to 8 bytes at Offset, little endian, rounded down to 8

	// The largest |a-b| / max(|a|,|b|) over the words that differ, read as floats and as doubles; +Inf
	// where a NaN or an infinity met a number. Meaningless for memory of another type.
	Relative32, Relative64 float64
	// The same summed over the words that differ, and divided by the number of words (pairs of them)
	// that the original changed, or by the number that differ if that is larger.
	Mean32, Mean64 float64

	Time float64 // of that run, ns
}

func (d Difference) String() string {
	if d.Same {
		return "the same bits"
	}
	if d.Words == 0 {
		return d.Where + " is not the same"
	}
	words := "words differ"
	if d.Words == 1 {
		words = "word differs"
	}
	return fmt.Sprintf("%d %s, first in %s at byte %d of %d (word %d): %#x instead of %#x", d.Words,
		words, d.Where, d.Offset, d.Size, d.Offset/4, d.Got, d.Want)
}

// A CandidateError is the driver's refusal to load or to launch a candidate; the process is
// unharmed.
type CandidateError struct {
	Doing string
	Code  int    // CUresult
	Text  string // the driver's words
}

func (e *CandidateError) Error() string {
	return fmt.Sprintf("%s: %s (CUDA error %d)", e.Doing, e.Text, e.Code)
}

// A Fault is a candidate's crash on the device. The process' CUDA context is lost: the application
// will see the error too.
type Fault struct {
	Candidate Candidate
	Code      int
	Text      string
}

func (e *Fault) Error() string {
	return fmt.Sprintf("a candidate crashed on the device: %s (CUDA error %d)", e.Text, e.Code)
}

// ErrHung says that a run did not end in its time. The process has been killed: a kernel can't be
// stopped otherwise.
var ErrHung = errors.New("the kernel did not finish in time, and the program was stopped")

// ErrGone says that the application has ended, or its agent can't be reached.
var ErrGone = errors.New("the program has ended")
