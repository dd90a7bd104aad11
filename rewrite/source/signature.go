package source

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
