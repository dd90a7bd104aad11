package lowered

import (
	"fmt"

	"gnvcc/rewrite/ptx"
)

// Signature gives Options.Signature for an entry: the PTX types of its parameters.
func Signature(entry *ptx.Func) []string {
	sig := []string{}
	for i := range entry.Params {
		p := &entry.Params[i]
		if len(p.Dims) > 0 || p.Vector > 0 {
			sig = append(sig, fmt.Sprintf(".b8[%d]", p.Size()))
		} else {
			sig = append(sig, "."+p.Type)
		}
	}
	return sig
}

// Scalars are the values that a signature has by itself: numbers that can be no pointers.
func Scalars(signature []string) (out []Value) {
	for i, sig := range signature {
		s, _, err := fromPTX(sig)
		if err == nil && (s.class == Float || s.class == Integer && s.bits <= 32) && s.bits >= 8 {
			out = append(out, Value{Name: fmt.Sprintf("#%d", i), Argument: i, Bits: s.bits,
				Class: s.class})
		}
	}
	return out
}
