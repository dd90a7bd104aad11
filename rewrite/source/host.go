package source

// The guard as the host can check it: the same conditions as in the text, on the bytes of the arguments.

import (
	"encoding/binary"
	"strconv"
	"strings"

	"gnvcc/rewrite/recipe"
)

// Conditions are what a launch must fulfil for a specialised copy that stands alone (Options.Alone).
type Conditions struct {
	Arguments   []Argument
	Block, Grid [3]int // 0: any
	HasDynamic  bool   // Dynamic counts
	Dynamic     int    // dynamic shared memory of the launch, bytes
}

// An Argument is a condition on one argument: its bytes at an offset, or, where Align is set, a multiple of Align.
type Argument struct {
	Index, Offset int
	Bytes         []byte
	Align         int
}

// Conditions reads a spec term. What Rewrite refuses is refused here, too.
func (k *Kernel) Conditions(term recipe.Term, opt Options) (Conditions, error) {
	if _, err := k.copies([]recipe.Term{term}, opt); err != nil {
		return Conditions{}, err
	}
	values, err := k.Values(opt.Signature)
	if err != nil {
		return Conditions{}, err
	}
	byName := map[string]Value{}
	for _, v := range values {
		byName[v.Name] = v
	}
	var c Conditions
	h, err := recipe.HostConditions(term.Value)
	if err != nil {
		return Conditions{}, refuse(k.label(), "%s: %v", term, err)
	}
	c.Block, c.HasDynamic, c.Dynamic = h.Block, h.HasDynamic, h.Dynamic
	for _, item := range strings.Split(term.Value, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(item), "=")
		if strings.HasPrefix(name, "host(") {
			continue
		}
		if _, ok := dimensions[name]; ok {
			n, _ := strconv.Atoi(text)
			of := &c.Block
			if strings.HasPrefix(name, "gridDim") {
				of = &c.Grid
			}
			if at := &of[name[len(name)-1]-'x']; *at != 0 && *at != n {
				return Conditions{}, refuse(k.label(), "%s: two sizes of a block", term)
			} else {
				*at = n
			}
			continue
		}
		if p, ok := strings.CutPrefix(name, "align("); ok {
			n, _ := strconv.Atoi(text)
			c.Arguments = append(c.Arguments, Argument{Index: byName[strings.TrimSuffix(p, ")")].Argument, Align: n})
			continue
		}
		v := byName[name]
		x, err := v.bits(text)
		if err != nil {
			return Conditions{}, refuse(k.label(), "%s: %v", term, err)
		}
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], x)
		c.Arguments = append(c.Arguments, Argument{Index: v.Argument, Offset: v.Offset, Bytes: b[:v.Bits/8]})
	}
	return c, nil
}
