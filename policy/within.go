package policy

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gnvcc/cache"
	"gnvcc/profile"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// How far results may be off, where the user allows that at all.
//
// The error of one value is |a-b| / max(|a|,|b|), a NaN or an infinity against a number being
// infinitely far off. The error of a launch is the largest one of all values that it wrote, or
// their mean (Li, thesis, chapter 6, uses the mean; one value of ten thousand may be quite wrong
// then). The mean is over the values that the original changed; where a launch writes what was
// there already, over those that differ, so that such a launch is judged more strictly. Both
// compare what one launch leaves, from equal memory before it: errors that grow from launch to
// launch are not in it.
//
// What a value is must be known: two floats read as a double hide the first one's error, bytes read
// as a float hide most of them. So a kernel is judged by its errors only where all that it stores
// to global memory is f32, or all f64; others must give the same bits.

// A Bound is the error that the user allows; the zero Bound: none, the same bits.
type Bound struct {
	Value float64
	Mean  bool // of the values, not each
	// a command of the user's, which looks at the program built with all recipes: then any finite error
	// is within Value
	App string
}

// parseBound reads "1e-3", "mean:1e-3" or "app:COMMAND".
func parseBound(text string) (Bound, error) {
	if command, is := strings.CutPrefix(text, "app:"); is && strings.TrimSpace(command) != "" {
		return Bound{Value: UnknownError / 10, App: command}, nil
	}
	number, mean := strings.CutPrefix(text, "mean:")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return Bound{}, fmt.Errorf(
			"%q is no bound: expected a relative error such as 1e-3 (of every value), mean:1e-3, or app:COMMAND", text)
	}
	return Bound{Value: v, Mean: mean}, nil
}

func (b Bound) String() string {
	switch {
	case b.App != "":
		return "what " + b.App + " accepts"
	case b.Mean:
		return fmt.Sprintf("%g in the mean", b.Value)
	}
	return fmt.Sprintf("%g", b.Value)
}

// Set makes a Bound an option of a command line.
func (b *Bound) Set(text string) (err error) {
	*b, err = parseBound(text)
	return err
}

// An Error is how far the results of a launch were off, as relative errors; both 0: the same bits.
// What is infinite or not known is unknownError, since JSON has no infinity.
type Error struct {
	Max, Mean float64
}

const UnknownError = 1e9

// Of is what a bound looks at.
func (b Bound) Of(e Error) float64 {
	if b.Mean {
		return e.Mean
	}
	return e.Max
}

// Allows reports whether an error is within the bound.
func (b Bound) Allows(e Error) bool { return e == Error{} || b.Of(e) <= b.Value }

// ErrorOf reads a comparison as the kernel's values.
func (k *Kernel) ErrorOf(d profile.Difference) Error {
	if d.Same {
		return Error{}
	}
	e := Error{UnknownError, UnknownError}
	switch k.Writes {
	case "f32":
		e = Error{d.Relative32, d.Mean32}
	case "f64":
		e = Error{d.Relative64, d.Mean64}
	}
	known := func(x float64) float64 {
		if !(x >= 0 && x <= UnknownError) {
			return UnknownError
		}
		return max(x, math.SmallestNonzeroFloat64) // other bits of equal values: -0 and 0
	}
	return Error{known(e.Max), known(e.Mean)}
}

// Larger is the larger error, each for itself.
func (e Error) Larger(other Error) Error {
	return Error{max(e.Max, other.Max), max(e.Mean, other.Mean)}
}

// Exceeds says why a difference is not allowed, and which kind of reason that is.
func (k *Kernel) Exceeds(b Bound, d profile.Difference) (string, cache.Refusal) {
	e := k.ErrorOf(d)
	switch {
	case b == Bound{}:
		return "different bits: " + d.String(), cache.OtherBits
	case k.Writes == "":
		return "different bits: " + d.String() +
			"; what it writes is not all f32 or all f64, so that no relative error is known", cache.OtherBits
	case e.Max >= UnknownError:
		return "different bits: a number became a NaN or an infinity, or vice versa; " + d.String(),
			cache.OtherBits
	}
	return fmt.Sprintf("its error is %.3g (mean %.3g), the bound %s", e.Max, e.Mean, b), ""
}

// writes is what a kernel stores to global memory: "f32" or "f64" if it is nothing else, else
// "". Constants, which nvcc stores as integers whatever they are, say nothing.
func writes(m *ptx.Module, name string) (string, error) {
	reach, err := m.Reach(name)
	if err != nil {
		return "", err
	}
	kind := ""
	for _, f := range reach.Funcs {
		if !f.Body {
			if strings.Contains(f.Name, "assert") {
				continue
			}
			return "", nil // of another file
		}
		w, err := ir.Of(f)
		if err != nil {
			return "", err
		}
		for i := range f.Stmts {
			x := w.Inst(i)
			switch x.Op {
			case "st", "atom", "red":
			case "sust", "sured", "multimem":
				return "", nil
			default:
				if x.Op == "cp" && bytes.Contains(f.Opcode(i), []byte(".global.shared")) ||
					x.Op == "wmma" && x.Has("store") {
					return "", nil
				}
				continue
			}
			if space := ptx.Space(f.Opcode(i)); space == "local" || space == "shared" || space == "param" {
				continue
			}
			of := x.Type()
			if x.Op == "st" && len(x.Args) == 2 && of != "f32" && of != "f64" &&
				(strings.HasSuffix(of, "32") || strings.HasSuffix(of, "64")) && storesNumbers(w, i) {
				continue
			}
			if of != "f32" && of != "f64" || kind != "" && kind != of {
				return "", nil
			}
			kind = of
		}
	}
	return kind, nil
}

// storesNumbers reports whether all that a store writes are numbers, or registers that are written
// once, by a move of a number.
func storesNumbers(w *ir.Func, i int) bool {
	value := w.Inst(i).Args[1].At
	return !slices.ContainsFunc(w.Accesses(i), func(a ir.Access) bool {
		if a.At.Start < value.Start {
			return false
		}
		d := w.Sole(a.Reg)
		if d < 0 || w.Inst(d).Op != "mov" || len(w.Inst(d).Args) != 2 {
			return true
		}
		c := w.Inst(d).Args[1].Text[0]
		return (c < '0' || c > '9') && c != '-'
	})
}

var errNoBound = errors.New(
	"approximation needs to know how far results may be off: --within 1e-3 (relative error of every value), --within mean:1e-5, or --within app:COMMAND")
