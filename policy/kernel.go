package policy

import (
	"context"
	"fmt"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/policy/check"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// What policy is given: kernels, launches, and the interfaces to those who compile, launch and
// store.

// A Kernel is what is known of one kernel of the user's before it is tuned. Fields that are not
// known stay zero.
type Kernel struct {
	Name     string // mangled
	Short    string // as people write it: "stencil<float, 4>"
	Identity string // the key of its decision
	Target   string // "sm_90"
	CC       int    // 90
	Ptxas    string // version, "13.0.88"

	// what the program was built into (cache.Decision.For): whom an approximation is for
	For []string
	// recipe that the loaded build was made with, "" for nvcc's own; then the default is loaded to
	// compare with
	Applied string

	Default cache.Build // nvcc's own compile
	// largest block of nvcc's own compile by its directives: .maxntid or .reqntid, else 1024
	MaxThreads int

	// Bounds is a limit on registers that the user asks for, "" for none:
	// "__launch_bounds__(..., 2)" (a second value; the first one is the largest block, and no
	// hint), "__maxnreg__(64)", "-maxrregcount=64". Under it Default was compiled.
	Bounds string

	Values []lowered.Value // what of a launch can be put into the source
	// of arguments, by their places in recipes, where Values are not at hand
	Names    map[string]string
	Loops    []lowered.Loop
	NoUnroll string // why nothing is unrolled; "" if it may be
	NoSpec   string // why nothing is specialised; "" if it may be
	// why a specialised copy can't be an entry of its own, chosen in the host stub; "" if it can
	NoSecond string
	// the instruction by which its blocks may wait for each other, "" if none does: then no fewer may
	// be resident
	Awaits string
	// why launches of its file may need as many resident blocks as before, though none waits
	Together string
	// why no levers but register caps and hints are allowed, "" if others are: it calls another
	// object's functions
	External string
	Source   string // the user's file, for reports

	Through       map[rewrite.Pointer]rewrite.Numbers // what it reads through its pointer arguments
	Variables     map[string]rewrite.Numbers          // and of its module's variables
	Texels        bool                                // what it reads of textures only scales
	Direct        bool                                // it reads through pointers in its arguments alone
	Scalars       map[rewrite.Pointer]rewrite.Numbers // what its arguments are themselves
	Decided       check.Arguments                     // what they decide
	Loads, Stores int                                 // accesses to global memory in its PTX that a hint can be given to
	Calls         bool                                // real calls
	Functions     bool                                // some of other functions than the driver's (printf, assert, malloc)
	Dynamic       bool                                // uses dynamic shared memory
	Reloc         bool                                // -rdc=true: assembled with -c, linked later

	Writes string         // what it stores to global memory: "f32" or "f64" if nothing else, else ""
	Math   map[string]int // what the lever fastmath could replace (lowered.Kernel.MathCalls)

	// Reads lists which of "blockDim.x" ... "gridDim.z" its PTX reads: the others are no values to
	// specialise for. nil: not known.
	Reads []string

	Alone string // why it is left alone: "it uses setmaxnreg", ...; "" if it may be tuned

	Banned []string // levers that the user does not want for it

	// First are recipes that are tried before others, and are candidates like any other: what stood
	// for the kernel before it was edited.
	First []recipe.Recipe

	facts *facts // what else is found in its PTX, when it is asked for

	Built *compile.Source `json:"-"` // what it was built from
}

// Shape is what makes two launches of a kernel the same configuration.
type Shape struct {
	Grid, Block [3]int
	Dynamic     int    // dynamic shared memory, bytes
	Set         string // which of several sets of argument values; "": all, or the only one
}

// ShapeOf is a launch's.
func ShapeOf(l *profile.Launch) Shape {
	return Shape{Grid: l.Grid, Block: l.Block, Dynamic: l.Dynamic, Set: l.Set}
}

// ShapeMeasured is that of a launch in a decision's evidence.
func ShapeMeasured(l cache.Launch) Shape {
	return Shape{Grid: l.Grid, Block: l.Block, Dynamic: l.Dynamic, Set: l.Set}
}

// Threads is the number of threads of a block.
func (s Shape) Threads() int { return s.Block[0] * s.Block[1] * s.Block[2] }

// Blocks is the number of blocks.
func (s Shape) Blocks() int { return s.Grid[0] * s.Grid[1] * s.Grid[2] }

// Sim is the shape of a build's launch for sim.
func (s Shape) Sim(b cache.Build) sim.Shape {
	return sim.Shape{Threads: s.Threads(), Shared: b.Shared + s.Dynamic, Blocks: s.Blocks(),
		Barriers: b.Barriers}
}

func (s Shape) String() string {
	text := dims(s.Grid) + " x " + dims(s.Block)
	if s.Dynamic > 0 {
		text += fmt.Sprintf(" + %d B", s.Dynamic)
	}
	if s.Set != "" {
		text += ", " + s.Set
	}
	return text
}

func dims(d [3]int) string {
	switch {
	case d[2] > 1:
		return fmt.Sprintf("(%d,%d,%d)", d[0], d[1], d[2])
	case d[1] > 1:
		return fmt.Sprintf("(%d,%d)", d[0], d[1])
	}
	return fmt.Sprint(d[0])
}

// A Candidate is a kernel compiled by a recipe.
type Candidate = compile.Candidate

// A Compiler makes candidates. It may be called from several goroutines.
type Compiler interface {
	// Kernel finds what a loaded module's kernel was built from; the error says why it can't be
	// compiled again.
	Kernel(module, kernel string) (*Kernel, error)
	// Compile makes a candidate.
	Compile(ctx context.Context, k *Kernel, r recipe.Recipe) (*Candidate, error)
	// Counting makes the build by a recipe, nvcc's own by none, with counters in it.
	Counting(ctx context.Context, k *Kernel, r recipe.Recipe) (*Candidate, counters.Counters, error)
	// Spent returns how often a tool has run, and for how long.
	Spent(tool string) (runs int, took time.Duration)
}

// A Sink keeps what was decided.
type Sink interface {
	Decide(cache.Decision) error
	// Past returns an earlier decision for a kernel's builds, one on this GPU where there is one; nil
	// if there is none.
	Past(k *Kernel, device string) *cache.Decision
}

// Notebooks is the kind of memo under which a store keeps a Memory's texts.
const Notebooks = "tuning"

// A Memory keeps small texts from one run to the next: what was compiled and measured. Losing one
// costs time only.
type Memory interface {
	Recall(key string) ([]byte, bool)
	Remember(key string, b []byte) error
}

// Label is how people call it.
func (k *Kernel) Label() string {
	if k.Short != "" {
		return k.Short
	}
	return k.Name
}

// Shut says why a recipe is not for this kernel, whatever it would bring, "" if it may be.
func (k *Kernel) Shut(r recipe.Recipe) string {
	if rewrite.Neutral(r) {
		return ""
	}
	return k.External
}
