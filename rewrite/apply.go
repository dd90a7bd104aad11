package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// Apply: recipes onto the kernels of one PTX file.

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

	passes []Pass // for tests, in place of the list
}

// Apply rewrites the kernels of a PTX text as their recipes say; the key is the entry's name. Terms
// of the other stages are passed over. A kernel whose recipe can't be carried out as a whole stays
// as it was, and refused says why, by name. Where nothing changes, out is src itself. err tells of
// a text that is no PTX: then out is src too.
func Apply(src []byte, recipes map[string]recipe.Recipe) (out []byte, refused map[string]error,
	err error) {
	return Options{}.apply(src, recipes)
}

// apply is the function Apply under these options.
func (o Options) apply(src []byte, recipes map[string]recipe.Recipe) (
	out []byte, refused map[string]error, err error) {
	wanted, refused := passable(recipes)
	if len(wanted) == 0 {
		return src, refused, nil
	}
	m, err := ptx.Parse(src)
	if err != nil {
		return src, refused, err
	}
	m, refused = o.Rewrite(m, recipes)
	return m.Bytes(), refused, nil
}

// Rewrite is Apply for a module that was read before, which stays as it is: out is a copy, or the
// module itself where no pass is wanted.
func (o Options) Rewrite(m *ptx.Module, recipes map[string]recipe.Recipe) (
	out *ptx.Module, refused map[string]error) {
	wanted, refused := passable(recipes)
	if len(wanted) == 0 {
		return m, refused
	}
	m = m.Clone()
	header := machineOf(m)
	header.trades = bytes.Contains(m.Bytes(), []byte("setmaxnreg"))
	for _, f := range m.Entries() {
		if r, ok := wanted[f.Name]; ok {
			delete(wanted, f.Name)
			if err := o.one(m, header, f, r); err != nil {
				refused[f.Name] = err
			}
		}
	}
	for name := range wanted {
		refused[name] = errors.New("no such kernel in this PTX")
	}
	return m, refused
}

// passable parts recipes into what the passes have to do and those that can't be carried out.
func passable(recipes map[string]recipe.Recipe) (wanted map[string]recipe.Recipe,
	refused map[string]error) {
	wanted, refused = make(map[string]recipe.Recipe), make(map[string]error)
	for name, r := range recipes {
		if err := Check(r); err != nil {
			refused[name] = err
		} else if p := At(r, PTX); !p.IsDefault() {
			wanted[name] = p
		}
	}
	return wanted, refused
}

// maxDeclared bounds the declarations of registers that stand in one function, since they are
// compared with each other. cicc writes one a type, and inline assembly one or two a scope: a
// kernel of CUTLASS has some thousand.
const maxDeclared = 1 << 14

// one carries out the PTX terms of one kernel's recipe, all or none.
func (o Options) one(m *ptx.Module, header machine, f *ptx.Func, r recipe.Recipe) error {
	declared := 0
	for _, s := range f.Stmts {
		if s.Kind == ptx.Decl {
			declared++
		}
	}
	if declared > maxDeclared {
		return fmt.Errorf("it has %d declarations, and %d are the most that are looked at", declared,
			maxDeclared)
	}
	if err := Fixed(m, f.Name, o.Relocatable, r); err != nil {
		return err
	}
	before := f.Clone()
	k := &kernel{Func: f, module: m, options: o, machine: header}
	list := o.passes
	if list == nil {
		list = passes
	}
	err := k.run(list, r)
	if err == nil && string(f.Text()) != string(before.Text()) {
		if err = verify(before, f); err != nil {
			err = fmt.Errorf("the rewritten kernel is not sound, which is gnvcc's own error: %w", err)
		}
	}
	if err != nil {
		f.Discard()
		if back := f.SetText(before.Text()); back != nil {
			return errors.Join(err, back)
		}
	}
	return err
}

// A kernel is what a pass works on.
type kernel struct {
	*ptx.Func
	module  *ptx.Module
	options Options
	machine machine
	traits  *ptx.Traits
}

// run carries out the terms of a recipe in the order of a list.
func (k *kernel) run(list []Pass, r recipe.Recipe) error {
	for _, p := range list {
		var terms []recipe.Term
		for _, t := range r.Terms {
			if t.Lever == p.Lever {
				terms = append(terms, t)
			}
		}
		if len(terms) == 0 {
			continue
		}
		if err := p.apply(k, terms); err != nil {
			return fmt.Errorf("%s: %w", terms[0], err)
		}
		if err := k.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// uses returns the kernel's traits, worked out once, on the text as it was.
func (k *kernel) uses() (ptx.Traits, error) {
	if k.traits == nil {
		t, err := k.module.Traits(k.Name)
		if err != nil {
			return ptx.Traits{}, err
		}
		k.traits = &t
	}
	return *k.traits, nil
}

// takesShared says why a pass may not take shared memory: it is not known what the launches leave.
func (k *kernel) takesShared() error {
	if _, known := k.options.Dynamic[k.Name]; !known {
		return errors.New(
			"it takes shared memory, which a launch may have asked for: it is for a second entry, chosen by host(dynamic)")
	}
	return nil
}

// only returns the value of a lever that has one term.
func only(terms []recipe.Term) (string, error) {
	if len(terms) != 1 || terms[0].Brace {
		return "", fmt.Errorf("one value is wanted: %s=VALUE", terms[0].Lever)
	}
	return terms[0].Value, nil
}

// A machine is what the module's own header promises, which ptxas checks instructions against; and
// what is known of the file as a whole.
type machine struct {
	isa int // .version times 10: 90
	sm  int // of .target: 90

	trades bool // setmaxnreg stands somewhere in the file
}

func machineOf(m *ptx.Module) machine {
	var out machine
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

// needs returns an error where the module's header is older than an instruction's requirements.
func (m machine) needs(what string, isa, sm int) error {
	if m.isa < isa {
		return fmt.Errorf("%s needs PTX ISA %d.%d, this text is for %d.%d", what, isa/10, isa%10,
			m.isa/10, m.isa%10)
	}
	if m.sm < sm {
		return fmt.Errorf("%s needs sm_%d, this text is for sm_%d", what, sm, m.sm)
	}
	return nil
}
