package cache

import "time"

// The records that the store keeps, as JSON. Fields are added, never renamed: an older gnvcc skips
// what it does not know, and a record of a newer schema than it knows is left alone.

// A Command is one gnvcc call as the user (or his build system) made it. It is kept as an object,
// named by its hash.
type Command struct {
	Args []string // without argv[0]
	Dir  string   // working directory
	Env  []string // NAME=value of the variables that a compile depends on (driver decides which)
	Nvcc string   // the real nvcc
}

// A Translation is one cicc call: device code in, PTX out. It is found by the hash of the PTX that
// came out.
type Translation struct {
	Command string   // object: Command
	Cicc    string   // the tool's path
	Args    []string // its arguments, as given
	Dir     string
	Input   string // hash of the preprocessed device code; an object where Lowered is ""
	// object: the device code as cicc's front end lowered it (--gen_device_file_name), "" where the
	// command does not ask for it
	Lowered string `json:",omitempty"`
	Sources string `json:",omitempty"` // object: the files that Input came from, with NUL between them
	// name by which the file's code asks for launches whose blocks are all resident, "" for none
	Resident string   `json:",omitempty"`
	Inline   []string `json:",omitempty"` // kernels whose host functions are inline
	PTX      string   // object: what cicc gave
	Time     time.Time
	Source   string   // the user's file
	Env      []string // what nvcc.profile set for cicc
}

// An Assembly is one ptxas call. It is found by the hash of the cubin that it gave.
type Assembly struct {
	Command string   // object: Command
	Ptxas   string   // the tool's path
	Version string   // "13.0.88"
	Args    []string // as given; input and output stand as "<in>" and "<out>"
	Dir     string
	Target  string // "sm_90"
	Reloc   bool   // -c: a device link follows
	PTX     string // object: the user's PTX, before any rewriting
	Cubin   string // hash of the cubin (an object only for relocatable ones)
	// hashes of the code (cubin.CodeHash) of this cubin, and of that of nvcc's own compile; "" in
	// records of earlier versions
	Code    string `json:",omitempty"`
	Own     string `json:",omitempty"`
	Kernels []Kernel
	Time    time.Time
}

// An Unapplied is a recipe that was wanted for a kernel and is not in a build, and why. Records of
// earlier versions have none: there the recipe is tried once more.
type Unapplied struct {
	Recipe  string
	Why     string
	Lasting bool // the next build finds the same; false: it was about this machine at that moment
	// hash of the code that was on record as measured (Evidence.Normals), "" for none
	Normals string `json:",omitempty"`
}

// String is that for people, "" for none.
func (r *Unapplied) String() string {
	switch {
	case r == nil:
		return ""
	case r.Lasting:
		return r.Recipe + ": " + r.Why
	}
	return "not this time: " + r.Recipe + ": " + r.Why
}

// A Kernel is one entry of an assembly as it was built.
type Kernel struct {
	Name string // mangled
	// hash of the normal form of its default PTX, target, ptxas version and flags: the decision's key
	Identity string
	Recipe   string // what was applied, "" for nvcc's own
	Build
	Unapplied *Unapplied `json:",omitempty"` // the recipe that was wanted, where that was not applied
}

// A Link is one nvlink call (-rdc=true): relocatable cubins in, one cubin out. It is found by the
// hash of its result.
type Link struct {
	Command string
	Nvlink  string
	// as given; the inputs that are files stand as "<0>", "<1>", ..., the result as "<out>"
	Args   []string
	Dir    string
	Inputs []LinkInput
	Target string
	Cubin  string // hash of the result
	Time   time.Time
}

// A LinkInput is one file of a device link.
type LinkInput struct {
	Path   string
	Object string // object: its content at the time of the link
}

// A Decision is what is believed about one kernel: the recipe to build it with, and why. Key says
// under what it is kept.
type Decision struct {
	Identity  string
	Kernel    string // mangled name
	Target    string
	Recipe    string // "" when nothing better than the default was found
	Exactness string // "construction", "checked", "approximate"
	Evidence  Evidence
	Time      time.Time
	Pinned    bool `json:",omitempty"` // the user gave the recipe; nobody has measured it
	Predicted bool `json:",omitempty"` // predicted from machine code; nobody has run it

	// Imported names the file from which the decision was taken over; "": it was measured into this
	// store.
	Imported string `json:",omitempty"`

	// For names what the program that was tuned had been built into: files by their absolute path, or
	// folders, which end in a slash. An approximate recipe is for builds of these alone; without a
	// recipe it was taken back.
	For []string `json:",omitempty"`

	// From is the store of somebody else's that it was read in, "" for one's own. It is never kept.
	From string `json:",omitempty"`
}

// A LockFile is a lock file that the user has named for the builds in and below a folder.
type LockFile struct {
	Folder string // absolute, symbolic links followed
	File   string // absolute
	Time   time.Time
}

// A Ban is what the user does not want for a kernel: neither tried nor applied.
type Ban struct {
	Levers []string
	Time   time.Time
}

// Evidence is what a decision rests on.
type Evidence struct {
	Device   string // "NVIDIA H200"
	Driver   string // "580.159.04"
	Version  string // of gnvcc
	Default  Build
	Chosen   Build
	Launches []Launch
	// of launches beside these; nil: there are none, or their time is not known
	Rest    *Rest `json:",omitempty"`
	Tried   []Trial
	Untried map[string]string `json:",omitempty"` // lever -> why nothing of it was tried
	Note    string            // why the kernel was left alone, or what the user should know

	// why the kernel's results differ from run to run with nvcc's own code, so that the recipe's were
	// not compared with them: it is exact by construction; "": they were
	Unsteady string `json:",omitempty"`

	// Normals are hashes of the normal form of the PTX that cicc gave for the recipe's terms for the
	// source, by these terms, and of what passes on PTX that are not exact by construction gave
	// ("ptx early=2"). A build takes what has the same ones: the code that was checked. What came from a lock file has the hash of the whole code, too, under CodeKey.
	Normals map[string]string `json:",omitempty"`

	// Locked is what a lock file says in the place of launches; nil where this machine's store has its
	// own evidence.
	Locked *Locked `json:",omitempty"`

	// Program is what the program itself said of a recipe (package confirm); nil: it is proposed, and
	// no run with it was compared yet.
	Program *InProgram `json:",omitempty"`

	// Outvoted are the source's hints that the recipe does not keep: "__launch_bounds__(..., 2)".
	Outvoted []string `json:",omitempty"`
	// Names are those that the arguments of the recipe's conditions had in the source that was tuned,
	// by their places ("#1"): for people.
	Names map[string]string `json:",omitempty"`
}

// InProgram is a recipe compared with nvcc's own code over all launches of a program.
type InProgram struct {
	Recipe         string
	Promised, Gain float64 // nvcc's time over the recipe's: by replays, and in the program
	Before, After  float64 // seconds of all launches
	TakenBack      string  `json:",omitempty"` // why the recipe is no longer used
	Time           time.Time
}

// CodeKey is where Evidence.Normals holds the hash of all that ptxas is to be given for the kernel
// (driver). No rewriting of a source has this text.
const CodeKey = "code"

// Locked is as much of the evidence as a lock file carries.
type Locked struct {
	Gain           float64 // the default's time over the chosen one's; 0: nobody has measured it
	Checks, Varied int     // launches on which the results were compared, as in Launch
	Ptxas          string  // version
}

// A Build is what a compile of the kernel gave.
type Build struct {
	Registers int
	Spill     int // bytes of spill stores
	Stack     int // bytes per thread
	Shared    int // static, bytes per block
	Barriers  int `json:",omitempty"` // named barriers, which limit resident blocks, too
}

// A Launch is one configuration in which the kernel was seen and measured.
type Launch struct {
	Grid, Block [3]int
	Dynamic     int     // dynamic shared memory, bytes
	Set         string  `json:",omitempty"` // which of several sets of argument values
	Count       int     // launches seen in the run
	Seconds     float64 `json:",omitempty"` // that they took in the program; 0: not known
	Checked     int     // launches on which the chosen build gave the same bits
	// launches with other floating-point data than the program's on which it did
	Varied int    `json:",omitempty"`
	Arrays [2]int `json:",omitzero"` // in so many of the arrays that it reads there was other data, and all
	Before Time
	After  Time
	// "n" or "param 3" -> value, for what stayed the same in all launches
	Values map[string]string `json:",omitempty"`

	Cost   *Cost   `json:",omitempty"` // of the search on it
	Counts *Counts `json:",omitempty"` // what nvcc's own code did in it; nil: not counted
	Chosen *Counts `json:",omitempty"` // and the chosen build's
}

// Counts is how often a kernel's code runs in launches of a configuration with the same arguments,
// by its PTX: counted by a build with counters, never estimated.
type Counts struct {
	Rule int // of package check, by which what follows was judged
	// how often each basic block is run by a warp, in the order of the text: those of the kernel, then
	// those of the functions that it calls; then of each choice whether an outcome was seen
	Blocks []uint64
	Wanted []int    `json:",omitempty"` // which of them have to run in a checked launch
	Forms  []string `json:",omitempty"` // of each of these, what stands there
	Data   []int    `json:",omitempty"` // of those that did not, which could with other numbers in memory
	Pins   [][3]int `json:",omitempty"` // arguments that have to be the same: index, offset, bytes; -1, -2: block, grid
	Code   string   `json:",omitempty"` // hash of the text
}

// A Cost is what a search has taken, all runs together.
type Cost struct {
	Seconds    float64 // that the program stood still
	Candidates int     // measured or refused
	Cicc       int     // runs of cicc
	Ptxas      int     // and of ptxas
	Compiling  float64 // seconds of both, added up over those that ran at a time
}

// A Time is a median over repetitions with a 95 % interval, nanoseconds.
type Time struct {
	Median, Low, High float64
	N                 int
}

// A Trial is one candidate that was tried.
type Trial struct {
	Recipe string
	Build  Build
	// time over the default's, time-weighted over the launches measured; 0: not measured
	Ratio   float64
	Refused string  `json:",omitempty"` // why it can't be adopted
	Because Refusal `json:",omitempty"` // the kind of that reason, where somebody asks for it
	// why it was not compared on fresh samples, though it had looked better
	Open string `json:",omitempty"`
}

// A Refusal is a kind of reason for which a recipe is not adopted. The text beside it is for
// people, and nobody reads it.
type Refusal string

// The kinds that are told apart; "" is any other.
const (
	OtherBits Refusal = "bits" // a launch left other bits than nvcc's own build
	SameCode  Refusal = "code" // what the GPU executes was there already: not measured by itself
)
