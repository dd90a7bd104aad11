package judge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gnvcc/sim/cubin"
	"gnvcc/sim/emulate"
)

// An edit judged.

// How an edit compares.
const (
	Same      = "same"      // all bytes
	Near      = "within"    // what was allowed
	Different = "different" // other bytes
	Faults    = "fault"     // it does what can't be done: out of bounds, a barrier that not all reach
	Hangs     = "hangs"     // it does not end
	Refused   = "refused"   // it can't be launched as the original is
)

// A Verdict is what came of it.
type Verdict struct {
	How        string
	Equal      bool
	Why        string      `json:",omitempty"` // in words, where it is not equal
	Where      string      `json:",omitempty"` // on which launch
	Difference *Difference `json:",omitempty"`
	Launches   int         // that were compared
	Orders     int         `json:",omitempty"` // in which each was done
	// in another order of blocks or warps the original gives other bytes, which were not compared
	Unstable bool `json:",omitempty"`
	// special functions were needed, whose results are those of a model
	Modelled bool `json:",omitempty"`
}

// Fits says why an edit can't take an original's place in a launch, "" where it can.
func Fits(own cubin.Kernel, edit Code) (string, error) {
	k, err := edit.Facts()
	if err != nil {
		return "", err
	}
	if !slices.EqualFunc(k.Params, own.Params, func(x, y cubin.Param) bool {
		return x.Offset == y.Offset && x.Size == y.Size
	}) {
		return "its parameters are others than the original's", nil
	}
	return "", nil
}

// Judge runs an edit on all launches, until one shows that it is not the original. An error: it
// can't be judged here.
func (b *Bench) Judge(ctx context.Context, edit Code, within Within) (Verdict, error) {
	if len(b.launches) == 0 {
		return Verdict{}, fmt.Errorf("%w: %s", errNone, strings.Join(b.Skipped, "; "))
	}
	if why, err := Fits(b.facts, edit); err != nil || why != "" {
		return Verdict{How: Refused, Why: why}, err
	}
	out := Verdict{How: Same, Equal: true, Orders: len(orders)}
	for _, p := range b.launches {
		one, err := p.judge(ctx, edit, within)
		if err != nil {
			return Verdict{}, err
		}
		out.Launches++
		out.Unstable = out.Unstable || one.Unstable
		out.Modelled = out.Modelled || one.Modelled
		if one.How != Same && (out.How == Same || !one.Equal) {
			one.Launches, one.Orders, one.Unstable, one.Modelled = out.Launches, out.Orders,
				out.Unstable, out.Modelled
			out = one
		}
		if !out.Equal {
			return out, nil
		}
	}
	return out, nil
}

// judge compares on one launch.
func (p *prepared) judge(ctx context.Context, edit Code, within Within) (Verdict, error) {
	out := Verdict{How: Same, Equal: true, Modelled: p.special}
	start := p.memory.Clone()
	program, err := emulate.Load(edit.Cubin, edit.Kernel, start)
	if err != nil {
		return out, err
	}
	for n, o := range orders {
		where := p.what
		if o.order != 0 {
			where += ", blocks and warps in another order"
		}
		m, ran, fault, err := p.run(ctx, program, start, n, min(20*p.steps+100_000, 1<<26))
		if err != nil {
			return out, err
		}
		out.Modelled = out.Modelled || ran.Approximate
		if fault != nil {
			out.How, out.Equal, out.Why, out.Where = Faults, false, fault.Error(), where
			if emulate.Endless(fault) {
				out.How = Hangs
			}
			return out, nil
		}
		var ignore func(buffer, at, size int) bool
		if n > 0 {
			ignore = func(buffer, at, size int) bool {
				for k := at; k < at+size; k++ {
					if p.unstable[buffer][k] {
						out.Unstable = true
						return true
					}
				}
				return false
			}
		}
		d := Compare(p.after[n], m, p.types, ignore, within)
		if d == nil {
			d = kept(p.after[n], start, m)
		}
		if d == nil {
			continue
		}
		out.Difference, out.Where = d, where
		if !d.beyond {
			out.How, out.Why = Near, ""
			continue
		}
		out.How, out.Equal, out.Why = Different, false, d.String()
		if strings.HasPrefix(d.Argument, "variable ") {
			out.Why = "it keeps something from one launch to the next: " + d.String()
		}
		return out, nil
	}
	return out, nil
}

// kept finds what an edit has written to variables that the original does not have: there it could
// keep what it is to compute.
func kept(original, start, after *emulate.Memory) *Difference {
	had, was := len(original.Buffers()), start.Buffers()
	for n, b := range after.Buffers()[min(had, len(was)):] {
		for at, x := range b.Bytes {
			if old := was[had+n].Bytes[at]; x != old {
				return &Difference{Argument: "variable " + b.Name, Index: at, Type: "char",
					Want: fmt.Sprintf("%x", old), Got: fmt.Sprintf("%x", x), Elements: 1, beyond: true}
			}
		}
	}
	return nil
}
