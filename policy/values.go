package policy

import (
	"bytes"
	"fmt"
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
	HostValue                  // what the host alone looks at: host(block), host(dynamic)
)

// Values reads the values of a launch that were the same in all launches of its configuration so far. What can't be
// read with certainty (a type not known, a NaN, which no comparison finds equal) is left out.
func Values(k *Kernel, l *profile.Launch) []Value { return values(k, l, false) }

// valuesNow reads the values of this one launch.
func valuesNow(k *Kernel, l *profile.Launch) []Value { return values(k, l, true) }

func values(k *Kernel, l *profile.Launch, now bool) []Value {
	var out []Value
	for _, d := range []struct {
		name string
		size [3]int
		kind ValueKind
	}{{"blockDim.", l.Block, BlockDim}, {"gridDim.", l.Grid, GridDim}} {
		for i, axis := range []string{"x", "y", "z"} {
			out = append(out, Value{Name: d.name + axis, Text: strconv.Itoa(d.size[i]), Kind: d.kind})
		}
	}
	out = append(out,
		Value{Name: "host(block)", Text: fmt.Sprintf("%dx%dx%d", l.Block[0], l.Block[1], l.Block[2]), Kind: HostValue},
		Value{Name: "host(dynamic)", Text: strconv.Itoa(l.Dynamic), Kind: HostValue})
	for _, v := range k.Values {
		if v.Why != "" || v.Name == "" || v.Argument >= len(l.Params) {
			continue
		}
		p := l.Params[v.Argument]
		end := v.Offset + v.Bits/8
		if end > len(p.Value) {
			continue
		}
		bits := p.Value[v.Offset:end]
		if v.Class == source.Pointer {
			// 16 bytes is what the widest load wants.
			if now && len(bits) == 8 && bits[0]&15 == 0 || !now && p.Align >= 4 && p.Align < 64 {
				out = append(out, Value{Name: v.Name, Text: "16", Kind: Alignment})
			}
			continue
		}
		if !now && end <= len(p.Same) && bytes.IndexByte(p.Same[v.Offset:end], 0) >= 0 {
			continue // another launch of this configuration had another value
		}
		if text, err := v.Text(bits); err == nil {
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
