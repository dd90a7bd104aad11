package rewrite

import (
	"errors"
	"fmt"
	"slices"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// Fixed says why a recipe may not change how a kernel is compiled, nil if it may: the kernel calls
// code that was compiled for the registers of nvcc's own.
//
// A function whose address is taken is compiled once for each register count of its callers, and a
// pointer leads to one of these copies: from a kernel with another count "invalid program counter",
// and nothing that compiles shows it. Any lever may change the count, so that all are refused.
//
// With -rdc=true (relocatable) see External. See Overlaps for kernels whose grids overlap.
func Fixed(m *ptx.Module, kernel string, relocatable bool, r recipe.Recipe) error {
	reach, err := m.Reach(kernel)
	if err != nil {
		return err
	}
	if r.HasSecond() {
		if why := overlaps(reach, kernel); why != "" {
			return errors.New(why)
		}
	}
	for _, f := range reach.Funcs {
		if f.Entry && f.Name != kernel {
			continue // launched, not called
		}
		for i, s := range f.Stmts {
			if s.Kind == ptx.Inst && string(f.Base(i)) == "call" && f.CallsByPointer(i) {
				return errors.New(
					"it calls by pointer a function that was compiled for the registers of nvcc's own code")
			}
		}
	}
	if relocatable && !Neutral(r) {
		return External(m, kernel)
	}
	return nil
}

// External says why a kernel of a file that is compiled with -rdc=true gets register caps and cache
// hints alone, nil if all levers are allowed: it calls a function that may be another object's.
//
// What such a function computes is no part of the kernel's identity (a .weak one, too, may be taken
// from another object), so that nothing that is only checked may be taken over from one program to
// another. A hint does not change what is computed, nor does a cap; that nvlink compares a kernel's
// cap with the count of every function that it calls is seen to where the cubin is made
// (driver/compile/linked.go).
func External(m *ptx.Module, kernel string) error {
	reach, err := m.Reach(kernel)
	if err != nil {
		return err
	}
	for _, f := range reach.Funcs {
		if !f.Entry && (!f.Body || f.Linkage == "weak") && !ptx.OfRuntime(f.Name) {
			return fmt.Errorf(
				"with -rdc=true it calls %s, which may be another object's: registers and cache hints alone "+
					"are allowed",
				f.Name)
		}
	}
	return nil
}

// Linked reports whether a kernel calls a function with whose registers nvlink compares its cap: one
// that is External, or the device runtime's.
func Linked(m *ptx.Module, kernel string) bool {
	reach, err := m.Reach(kernel)
	return err != nil || External(m, kernel) != nil ||
		slices.ContainsFunc(reach.Funcs, func(f *ptx.Func) bool {
			return !f.Entry && !f.Body && !ptx.OfDriver(f.Name)
		})
}

// Overlaps says why a kernel has no second entry, "" if it may have one: its grids overlap with
// others (griddepcontrol, programmatic dependent launch), for which it is launched with attributes
// (cudaLaunchKernelEx), past the host stub.
//
// Such a grid may touch what the grid before it writes behind griddepcontrol.wait only. cicc, ptxas
// and the passes here may move loads of memory that the kernel itself does not write (.nc). So
// whatever a recipe does, the machine code is looked at: an access that can be reached without a
// wait is refused (package sass, BeforeWait). Of launch_dependents only the moment is seen: a grid
// that begins early has to wait for the end of this one before it relies on memory (PTX ISA,
// griddepcontrol).
func Overlaps(m *ptx.Module, kernel string) (string, error) {
	reach, err := m.Reach(kernel)
	if err != nil {
		return "", err
	}
	return overlaps(reach, kernel), nil
}

func overlaps(reach *ptx.Reach, kernel string) string {
	for _, f := range reach.Funcs {
		if f.Entry && f.Name != kernel {
			continue
		}
		for i, s := range f.Stmts {
			if s.Kind == ptx.Inst && string(f.Base(i)) == "griddepcontrol" {
				return "it overlaps with other grids (griddepcontrol), and is launched past the host stub"
			}
		}
	}
	return ""
}

// Bounded reports whether a kernel is compiled under a hint of its own for registers.
func Bounded(f *ptx.Func) bool {
	return slices.ContainsFunc(boundDirectives, func(name string) bool {
		_, ok := f.Directive(name)
		return ok
	})
}

// Neutral reports whether a recipe does nothing but cap registers and give accesses a cache policy.
func Neutral(r recipe.Recipe) bool {
	return !slices.ContainsFunc(r.Terms, func(t recipe.Term) bool {
		p := lookup(t.Lever)
		return p == nil || !p.neutral
	})
}
