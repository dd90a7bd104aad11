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
// With -rdc=true (relocatable) see Foreign: hints alone leave registers as they are.
func Fixed(m *ptx.Module, kernel string, relocatable bool, r recipe.Recipe) error {
	reach, err := m.Reach(kernel)
	if err != nil {
		return err
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
	if relocatable && !HintsAlone(r) {
		return Foreign(m, kernel)
	}
	return nil
}

// Foreign says why a kernel of a file that is compiled with -rdc=true gets cache hints alone, nil
// if all levers are allowed: it calls a function that may be another object's.
//
// nvlink compares a kernel's bound on registers with the count of every function that it calls, in
// whatever object that stands, and ends the link ("calls function ... with regcount"); a .weak
// function may be taken from another object, too. And what such a function computes is no part of
// the kernel's identity, so that nothing that is only checked may be taken over from one program to
// another. A hint changes neither registers nor what is computed.
func Foreign(m *ptx.Module, kernel string) error {
	reach, err := m.Reach(kernel)
	if err != nil {
		return err
	}
	for _, f := range reach.Funcs {
		if !f.Entry && (!f.Body || f.Linkage == "weak") && !ptx.OfRuntime(f.Name) {
			return fmt.Errorf(
				"with -rdc=true it calls %s, which may be another object's: cache hints alone are allowed",
				f.Name)
		}
	}
	return nil
}

// HintsAlone tells whether a recipe does nothing but give accesses a cache policy.
func HintsAlone(r recipe.Recipe) bool {
	return !slices.ContainsFunc(r.Terms, func(t recipe.Term) bool {
		return t.Lever != "ld" && t.Lever != "st"
	})
}
