package source

// The guard as the host can check it: the same conditions as in the text, on the bytes of the
// arguments.

import (
	"encoding/binary"

	"gnvcc/rewrite/recipe"
)

// Conditions are what a launch must fulfil for a specialised kernel.
type Conditions struct {
	Arguments   []Argument
	Block, Grid [3]int // 0: any
	HasDynamic  bool   // Dynamic counts
	Dynamic     int    // dynamic shared memory of the launch, bytes
}

// An Argument is a condition on one argument: its bytes at an offset, or, where Align is set, a
// multiple of Align.
type Argument struct {
	Index, Offset int
	Bytes         []byte
	Align         int
}

// Conditions reads a spec term. What Rewrite refuses is refused here, too.
func (k *Kernel) Conditions(term recipe.Term, signature []string) (Conditions, error) {
	if _, err := k.copied([]recipe.Term{term}, signature); err != nil {
		return Conditions{}, err
	}
	values, err := k.Values(signature)
	if err != nil {
		return Conditions{}, err
	}
	g, err := term.Guard()
	if err != nil {
		return Conditions{}, refuse(k.label(), "%v", err)
	}
	c := Conditions{Block: g.Block(), Grid: g.Grid()}
	c.Dynamic, c.HasDynamic = g.Dynamic()
	for _, condition := range g.Conditions {
		if condition.Kind != recipe.Argument && condition.Kind != recipe.Alignment {
			continue
		}
		v, err := find(values, condition.Of)
		if err != nil {
			return Conditions{}, refuse(k.label(), "%s: %v", term, err)
		}
		if condition.Kind == recipe.Alignment {
			c.Arguments = append(c.Arguments, Argument{Index: v.Argument, Align: condition.Number})
			continue
		}
		x, err := v.bits(condition.Value)
		if err != nil {
			return Conditions{}, refuse(k.label(), "%s: %v", term, err)
		}
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], x)
		c.Arguments = append(c.Arguments, Argument{Index: v.Argument, Offset: v.Offset,
			Bytes: b[:v.Bits/8]})
	}
	return c, nil
}
