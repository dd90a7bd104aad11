package rewrite

import (
	"bytes"
	"errors"
	"fmt"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// Apply: recipes onto the kernels of one PTX file.

// Options says what the passes need to know and can't read in the PTX (package pass).
type Options pass.Options

// Rewrite rewrites the kernels of a module as their recipes say; the key is the entry's name. Terms
// of the other stages are passed over. A kernel whose recipe can't be carried out as a whole stays
// as it was, and refused says why, by name. The module stays as it is: out is a copy, or the module
// itself where no pass is wanted.
func (o Options) Rewrite(m *ptx.Module, recipes map[string]recipe.Recipe) (
	out *ptx.Module, refused map[string]error) {
	return o.rewrite(passes, m, recipes)
}

func (o Options) rewrite(list []Pass, m *ptx.Module, recipes map[string]recipe.Recipe) (
	out *ptx.Module, refused map[string]error) {
	wanted, refused := passable(recipes)
	if len(wanted) == 0 {
		return m, refused
	}
	m = m.Clone()
	header := pass.MachineOf(m)
	header.Trades = bytes.Contains(m.Bytes(), []byte("setmaxnreg"))
	for _, f := range m.Entries() {
		if r, ok := wanted[f.Name]; ok {
			delete(wanted, f.Name)
			if err := o.one(list, m, header, f, r); err != nil {
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
func (o Options) one(list []Pass, m *ptx.Module, header pass.Machine, f *ptx.Func,
	r recipe.Recipe) error {
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
	unsettled := settled(list, m, f.Name, r)
	before := f.Clone()
	k := &pass.Kernel{Func: f, Module: m, Options: pass.Options(o), Machine: header}
	err := run(k, list, r)
	if err == nil {
		err = unsettled
	}
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

// Settled says why a kernel that is compiled otherwise could have other bits, nil: it could not.
// ptxas unrolls a short loop, or does not, by how long its body is and by what stands in it: what
// it takes for a number in the kernel may be none in a variant, and the other way round.
func Settled(m *ptx.Module, kernel string) error {
	if err := fold.Unlike(m, kernel); err != nil || !fold.Approximates(m, kernel) ||
		!fold.Counted(m, kernel) {
		return err
	}
	return fold.Check(m, kernel, fold.Fixed{PTX: true}, func(string) bool { return true })
}

// settled asks that for a recipe's passes.
func settled(list []Pass, m *ptx.Module, kernel string, r recipe.Recipe) error {
	if ExactnessOf(r) == Approximate {
		return nil // other bits are what the user allowed
	}
	for _, p := range list {
		if p.Stage == PTX && p.Exact == Checked && Uses(r, p.Lever) {
			return Settled(m, kernel)
		}
	}
	return nil
}

// run carries out the terms of a recipe in the order of a list.
func run(k *pass.Kernel, list []Pass, r recipe.Recipe) error {
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
