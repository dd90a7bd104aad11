package compile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/refuse"
)

// refused returns an error where a source variant is not to be compiled, since its results could be
// wrong in launches that no check has seen (rewrite/refuse). module is the untouched text's PTX.
func (v variantOf) refused(unit *lowered.Unit, module *ptx.Module, signature []string) error {
	fixed, err := v.fixed(unit, signature)
	if err != nil {
		return err
	}
	if len(fixed) > 0 || v.has("unroll") {
		err = refuse.Undefined(module, v.entry, fixed)
	}
	if err != nil || v.has(recipe.FastMath) { // which is to have other bits
		return err
	}
	if refuse.Rereads(module, v.entry) {
		return errors.New("it reads through the read-only cache what it also writes: a variant may " +
			"read another value")
	}
	return refuse.Misfolded(module, v.entry)
}

// fixed returns the integers that the variant's spec terms fix.
func (v variantOf) fixed(unit *lowered.Unit, signature []string) (refuse.Fixed, error) {
	fixed := refuse.Fixed{}
	k, err := unit.Kernel(v.entry)
	if err != nil {
		return fixed, err
	}
	for _, term := range v.terms {
		if term.Lever != recipe.Second {
			continue
		}
		c, err := k.Conditions(term, signature)
		if err != nil {
			return fixed, err
		}
		for _, a := range c.Arguments {
			if a.Align == 0 {
				var b [8]byte
				copy(b[:], a.Bytes)
				fixed[fmt.Sprintf("%d+%d", a.Index, a.Offset)] = int64(binary.LittleEndian.Uint64(b[:]))
			}
		}
		for i, axis := range []string{"x", "y", "z"} {
			if c.Block[i] != 0 {
				fixed["ntid."+axis] = int64(c.Block[i])
			}
			if c.Grid[i] != 0 {
				fixed["nctaid."+axis] = int64(c.Grid[i])
			}
		}
	}
	return fixed, nil
}

func (v variantOf) has(lever string) bool {
	return slices.ContainsFunc(v.terms, func(t recipe.Term) bool { return t.Lever == lever })
}
