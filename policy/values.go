package policy

import (
	"bytes"

	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/source"
)

// Values that launches have: what a specialised copy may be guarded by.

// A Value is something of a launch that a guard can compare.
type Value struct {
	Name string // for people: "n", "s.n", "blockDim.x"
	Kind ValueKind
	Is   recipe.Condition // that a launch has this value
}

// Text is the value as a guard has it: "1024".
func (v Value) Text() string { return v.Is.Text() }

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
	add := func(name string, kind ValueKind, c recipe.Condition) {
		if name == "" {
			name = c.Key()
		}
		out = append(out, Value{Name: name, Kind: kind, Is: c})
	}
	for axis := range 3 {
		add("", BlockDim, recipe.Condition{Kind: recipe.BlockDim, Axis: axis, Number: l.Block[axis]})
	}
	for axis := range 3 {
		add("", GridDim, recipe.Condition{Kind: recipe.GridDim, Axis: axis, Number: l.Grid[axis]})
	}
	add("", HostValue, recipe.Condition{Kind: recipe.HostBlock, Size: l.Block})
	add("", HostValue, recipe.Condition{Kind: recipe.HostDynamic, Number: l.Dynamic})
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
				add(v.Name, Alignment, recipe.Condition{Kind: recipe.Alignment, Of: v.Place(), Number: 16})
			}
			continue
		}
		if !now && end <= len(p.Same) && bytes.IndexByte(p.Same[v.Offset:end], 0) >= 0 {
			continue // another launch of this configuration had another value
		}
		if text, err := v.Text(bits); err == nil {
			add(v.Name, Scalar, recipe.Condition{Kind: recipe.Argument, Of: v.Place(), Value: text})
		}
	}
	return out
}

// guard makes a guard of values.
func guard(values []Value) recipe.Guard {
	var g recipe.Guard
	for _, v := range values {
		g.Conditions = append(g.Conditions, v.Is)
	}
	return g
}

// lookUp finds values by what a guard's conditions look at.
func lookUp(values []Value) func(key string) (string, bool) {
	have := map[string]string{}
	for _, v := range values {
		have[v.Is.Key()] = v.Text()
	}
	return func(key string) (string, bool) { text, ok := have[key]; return text, ok }
}
