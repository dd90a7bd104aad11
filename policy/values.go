package policy

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gnvcc/profile"
	"gnvcc/rewrite/source"
)

// Values that launches have: what a specialised copy may be guarded by.

// A Value is something of a launch that a guard can compare.
type Value struct {
	Name string // in guards: "n", "s.n", "blockDim.x"
	Text string // as a guard has it: "1024"
	Kind ValueKind
}

// ValueKind tells where a value comes from.
type ValueKind int

const (
	Scalar    ValueKind = iota // an argument, or a field of one
	BlockDim                   // blockDim.x, .y, .z
	GridDim                    // gridDim.x, .y, .z
	Alignment                  // of a pointer argument, bytes
)

// Values reads the values of a launch that were the same in all launches of its configuration so far. What can't be read with certainty (a type not known, a NaN, which no comparison
// finds equal) is left out.
func Values(k *Kernel, l *profile.Launch) []Value {
	var out []Value
	for i, axis := range []string{"x", "y", "z"} {
		for _, v := range []Value{
			{Name: "blockDim." + axis, Text: strconv.Itoa(l.Block[i]), Kind: BlockDim},
			{Name: "gridDim." + axis, Text: strconv.Itoa(l.Grid[i]), Kind: GridDim},
		} {
			if k.Reads == nil || slices.Contains(k.Reads, v.Name) {
				out = append(out, v)
			}
		}
	}
	for _, v := range k.Values {
		if v.Why != "" || v.Name == "" || v.Argument >= len(l.Params) {
			continue
		}
		p := l.Params[v.Argument]
		end := v.Offset + v.Bits/8
		if end > len(p.Value) {
			continue
		}
		if v.Class == source.Pointer {
			// 16 bytes is what the widest load wants.
			if p.Align >= 4 && p.Align < 64 {
				out = append(out, Value{Name: v.Name, Text: "16", Kind: Alignment})
			}
			continue
		}
		if end <= len(p.Same) && bytes.IndexByte(p.Same[v.Offset:end], 0) >= 0 {
			continue // another launch of this configuration had another value
		}
		if text, err := v.Text(p.Value[v.Offset:end]); err == nil {
			out = append(out, Value{Name: v.Name, Text: text, Kind: Scalar})
		}
	}
	return out
}

// guard prints values as the text between a spec's braces.
func guard(values []Value) string {
	words := make([]string, len(values))
	for i, v := range values {
		if v.Kind == Alignment {
			words[i] = fmt.Sprintf("align(%s)=%s", v.Name, v.Text)
		} else {
			words[i] = v.Name + "=" + v.Text
		}
	}
	return strings.Join(words, ",")
}
