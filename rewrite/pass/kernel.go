package pass

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// What a pass works on: a kernel, what is known of its launches, and what its module's header
// promises.

// Options says what the passes need to know and can't read in the PTX. The zero value is the
// careful one.
type Options struct {
	// Registers holds registers per thread of nvcc's own compile, by entry name, where the caller
	// knows them.
	Registers map[string]int
	// Blocks holds the block of an entry, by name, where the caller sees to it that it is launched
	// with no other: a second entry that the host chooses by its block. A dimension that is not fixed
	// is 0.
	Blocks map[string][3]int
	// Dynamic holds, in the same way, the bytes of dynamic shared memory that an entry is launched
	// with.
	Dynamic map[string]int
	// Coarse holds how many of the kernel's blocks one block of an entry does, in each dimension, by
	// name, where the caller sees to it that the entry is launched with a grid that is as many times
	// smaller, and never otherwise.
	Coarse map[string][3]int
	// Grids holds the grid of the launches that an entry is for, by name, where the caller sees to it
	// that it is for no others: what the program asks for, before Coarse makes it smaller. A dimension
	// that is not fixed is 0.
	Grids map[string][3]int
	// ReadBack: the caller reads the register count from the cubin and asks Launches.Shrinks, so that
	// a cap above what the largest block allows may be tried: ptxas often settles below it.
	ReadBack bool
	// Relocatable: ptxas runs with -c (nvcc -rdc=true), a device link follows.
	Relocatable bool
	// After is called with a kernel's text behind each pass; nil: none asks.
	After func(kernel, lever string, text []byte)
	// Uncontracted: ptxas is told of optimisations (-fmad, -O0, -Ofc), and may contract no products and sums.
	Uncontracted bool
}

// A Kernel is what a pass works on.
type Kernel struct {
	*ptx.Func
	Module  *ptx.Module
	Options Options
	Machine Machine
	traits  *ptx.Traits
}

// Uses returns the kernel's traits, worked out once, on the text as it was.
func (k *Kernel) Uses() (ptx.Traits, error) {
	if k.traits == nil {
		t, err := k.Module.Traits(k.Name)
		if err != nil {
			return ptx.Traits{}, err
		}
		k.traits = &t
	}
	return *k.traits, nil
}

// Forget has uses look at the text again, where a pass has changed what it says.
func (k *Kernel) Forget() { k.traits = nil }

// TakesShared says why a pass may not take shared memory: it is not known what the launches leave.
func (k *Kernel) TakesShared() error {
	if _, known := k.Options.Dynamic[k.Name]; !known {
		return errors.New(
			"it takes shared memory, which a launch may have asked for: it is for a second entry, chosen by host(dynamic)")
	}
	return nil
}

// OwnArray says why a pass may not give the kernel an array of its own in shared memory. names are
// those that the pass uses.
func (k *Kernel) OwnArray(names ...string) error {
	t, err := k.Uses()
	if err != nil {
		return err
	}
	if err := k.TakesShared(); err != nil {
		return err
	}
	for _, name := range names {
		if strings.Contains(string(k.Text()), name) {
			return fmt.Errorf("the kernel has names that begin with %s already", strings.Join(names, " or "))
		}
	}
	switch {
	case slices.Contains(k.Module.Target, "debug"):
		return errors.New("the kernel is built for debugging (-G)")
	case t.SharedDynamic && ReadsSharedSize(k.Text()):
		return errors.New("the kernel reads how much shared memory it has")
	case t.SetMaxNReg:
		return errors.New("the kernel moves registers between warps (setmaxnreg)")
	case t.Cluster || t.GridSync:
		return errors.New(
			"the kernel builds on how many blocks are resident at once (clusters, grid-wide barriers)")
	}
	return nil
}

// RoomBeside is how much an array may take beside so many bytes of the kernel's own shared memory,
// static and dynamic. Gaps between arrays, which Traits does not count, and our own rounding are
// allowed for.
func RoomBeside(own int) int {
	if own > 0 {
		own = RoundUp(own+128, DynamicAlign)
	}
	return max(0, SharedLimit-own)
}

// Only returns the value of a lever that has one term.
func Only(terms []recipe.Term) (string, error) {
	if len(terms) != 1 || terms[0].Brace {
		return "", fmt.Errorf("one value is wanted: %s=VALUE", terms[0].Lever)
	}
	return terms[0].Value, nil
}

// A Machine is what the module's own header promises, which ptxas checks instructions against; and
// what is known of the file as a whole.
type Machine struct {
	isa int // .version times 10: 90
	sm  int // of .target: 90

	Trades bool // setmaxnreg stands somewhere in the file
}

func MachineOf(m *ptx.Module) Machine {
	var out Machine
	if major, minor, ok := strings.Cut(m.Version, "."); ok {
		a, errA := strconv.Atoi(major)
		b, errB := strconv.Atoi(minor)
		if errA == nil && errB == nil && b < 10 {
			out.isa = 10*a + b
		}
	}
	for _, t := range m.Target {
		out.sm = max(out.sm, ptx.Capability(t))
	}
	return out
}

// Needs returns an error where the module's header is older than an instruction's requirements.
func (m Machine) Needs(what string, isa, sm int) error {
	if m.isa < isa {
		return fmt.Errorf("%s needs PTX ISA %d.%d, this text is for %d.%d", what, isa/10, isa%10,
			m.isa/10, m.isa%10)
	}
	if m.sm < sm {
		return fmt.Errorf("%s needs sm_%d, this text is for sm_%d", what, sm, m.sm)
	}
	return nil
}
