package contract

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
)

// Whether a compiler has computed in a variant what the GPU computes in the kernel. Then nothing is
// there that could be compared; but it is missed. A compiler copies blocks as they are: what stands
// in one block of the kernel is in the variant as often as its neighbours, for each time that it is
// in the kernel. It is there less often where a copy of it was computed, or is one with another
// copy; never more often. So of a statement that may have been computed there must be as many as of
// those of its neighbours that can't have been: stores, and arithmetic with a number that no
// compiler knows.

// A counted is a kind of statement at a place.
type counted struct{ at, kind string }

// A census is how often a function has each.
type census map[counted]int

func (b *body) census() census {
	out := census{}
	for i, st := range b.f.Stmts {
		if st.Kind == ptx.Inst && b.where[i].known() {
			out[b.counted(i)] += b.width(i)
		}
	}
	return out
}

// width is how many of a kind a statement is: stores of several numbers were several.
func (b *body) width(i int) int {
	op := b.f.Opcode(i)
	switch {
	case string(b.f.Base(i)) != "st":
		return 1
	case ptx.HasModifier(op, "v8"):
		return 8
	case ptx.HasModifier(op, "v4"):
		return 4
	case ptx.HasModifier(op, "v2"):
		return 2
	}
	return 1
}

func (b *body) counted(i int) counted { return counted{b.where[i].at, b.kind(i)} }

// kind is a statement's opcode, that of sums, products and contracted sums alike however they are
// contracted.
func (b *body) kind(i int) string {
	switch op := b.f.Opcode(i); {
	case b.isSum(i), b.isFused(i):
		return "sum " + manner(op)
	case b.isProduct(i):
		return "product " + manner(op)
	case string(b.f.Base(i)) == "st": // several may be one
		return "st"
	default:
		return string(op)
	}
}

// present is an error where some of a kernel's statements may have been computed in a variant.
func (k *function) present(v *body, some []int) error {
	if len(some) == 0 {
		return nil
	}
	k.counts(v)
	was, is, block := k.was, k.is, k.block
	for _, i := range some {
		of := k.counted(i)
		if of.at == "" {
			return fmt.Errorf("%s may become constant, and it is not known where in the source it stands",
				Text(k.f, i))
		}
		many, found := k.neighbours(k.reach.Blocks[block[i]], was, is, was[of])
		if !found {
			return fmt.Errorf("%s (%s) may become constant, and nothing stands beside it that can't",
				Text(k.f, i), of.at)
		}
		if is[of]*many.was < many.is*was[of] {
			return fmt.Errorf("%s (%s) may have become constant: it is there %d times, in the kernel %d times, and what stands beside it %d and %d times",
				Text(k.f, i), of.at, is[of], was[of], many.is, many.was)
		}
	}
	return nil
}

// counts makes what is counted.
func (k *function) counts(v *body) {
	if k.is != nil {
		return
	}
	k.was, k.is, k.block = k.census(), v.census(), make([]int, len(k.f.Stmts))
	for n, b := range k.reach.Blocks {
		for i := b.First; i < b.Last; i++ {
			k.block[i] = n
		}
	}
}

// settled tells of a statement that the variant has it, too, each time.
func (k *function) settled(i int) bool {
	known, ok := k.there[i]
	if !ok {
		known = k.variant != nil && k.present(k.variant, []int{i}) == nil
		if k.there == nil {
			k.there = map[int]bool{}
		}
		k.there[i] = known
	}
	return known
}

// folds tells of a statement that the variant may have a number in its place.
func (k *function) folds(i int) bool {
	if string(k.f.Base(i)) == "ld" {
		return true
	}
	return (!k.computes(i) || k.mayFold(i)) && !k.settled(i)
}

// A share is how often something is in a variant, and in the kernel.
type share struct{ is, was int }

// neighbours says how much more often a variant has what stands in a block and can't be computed:
// first of all what is in the kernel as often.
func (k *function) neighbours(b ptx.Block, was, is census, often int) (many share, found bool) {
	for _, alike := range []bool{true, false} {
		for i := b.First; i < b.Last; i++ {
			if k.f.Stmts[i].Kind != ptx.Inst || !k.where[i].known() || !k.stays(i) {
				continue
			}
			of := k.counted(i)
			if alike && was[of] != often {
				continue
			}
			if !found || is[of]*many.was > many.is*was[of] {
				many = share{is[of], was[of]}
			}
			found = true
		}
		if found {
			break
		}
	}
	return many, found
}

// stays tells of a statement that no compiler computes.
func (k *function) stays(i int) bool {
	switch string(k.f.Base(i)) {
	case "st", "atom", "red", "bar", "barrier":
		return true
	case "add", "sub", "mul", "fma", "div", "sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "min", "max":
		return floating(k.f.Opcode(i)) && slices.ContainsFunc(k.ops[i][1:], func(o string) bool {
			return strings.HasPrefix(o, "%") && !k.known(i, o)
		})
	}
	return false
}

// Places are those of a function's statements, as Present has them; "" where one is not known.
func Places(m *ptx.Module, f *ptx.Func) ([]string, error) {
	b, err := read(f, filesOf(m))
	if err != nil {
		return nil, err
	}
	out := make([]string, len(b.where))
	for i, p := range b.where {
		out[i] = p.at
	}
	return out, nil
}

// Present is an error where a compiler may have computed in a variant anything that stands at some
// places of the kernel's source, each "file:line:column".
func Present(k Kernel, variant *ptx.Module, places map[string]bool) error {
	reach, err := variant.Reach(k.Entry)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for n, f := range reach.Funcs {
		if !f.Body || n > 0 && f.Entry {
			continue
		}
		of, err := k.function(k.Module.Func(f.Name), k.Sums[f.Name])
		if err != nil {
			return err
		}
		b, err := read(f, filesOf(variant))
		if err != nil {
			return err
		}
		var some []int
		for i, st := range of.f.Stmts {
			at := of.where[i].at
			if st.Kind != ptx.Inst || !places[at] {
				continue
			}
			called := string(of.f.Base(i)) == "call"
			found[at] = found[at] || called || of.computes(i)
			if called || of.mayFold(i) {
				some = append(some, i)
			}
		}
		if err := of.present(b, some); err != nil {
			return err
		}
	}
	for at := range places {
		if !found[at] {
			return fmt.Errorf("what stands at %s may become constant, and is not found in the kernel", at)
		}
	}
	return nil
}

// computes tells of a statement that gives a number that is not just another one.
func (k *function) computes(i int) bool {
	switch string(k.f.Base(i)) {
	case "ld", "st", "mov", "atom", "red", "selp", "call", "bra", "ret":
		return false
	}
	return len(k.ops[i]) > 1 && (floating(k.f.Opcode(i)) || ptx.HasModifier(k.f.Opcode(i), "f32") ||
		ptx.HasModifier(k.f.Opcode(i), "f64"))
}

// mayFold tells of a statement whose operands a variant may know.
func (k *function) mayFold(i int) bool {
	return k.computes(i) && !slices.ContainsFunc(k.ops[i][1:], func(o string) bool {
		return strings.HasPrefix(o, "%") && !k.known(i, o)
	})
}
