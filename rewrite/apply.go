package rewrite

import (
	"bytes"
	"errors"
	"fmt"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/refuse"
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
	before := f.Clone()
	k := &pass.Kernel{Func: f, Module: m, Options: pass.Options(o), Machine: header}
	var err error
	if ExactnessOf(r) == Checked { // it may change which loops ptxas unrolls
		err = refuse.Misfolded(m, f.Name)
	}
	if err == nil {
		err = run(k, list, r)
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

// run carries out the terms of a recipe in the order of a list.
func run(k *pass.Kernel, list []Pass, r recipe.Recipe) error {
	moved := false
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
		if p.Exact == Checked && !moved && !k.Options.Uncontracted {
			moved = true
			if err := contract(k); err != nil {
				return err
			}
		}
		if err := p.apply(k, terms); err != nil {
			return fmt.Errorf("%s: %w", terms[0], err)
		}
		if err := k.Commit(); err != nil {
			return err
		}
		if k.Options.After != nil {
			k.Options.After(k.Name, p.Lever, k.Text())
		}
	}
	return nil
}
