package policy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"gnvcc/policy/check"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/recipe"
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

// ValueKind says where a value comes from.
type ValueKind int

const (
	Scalar     ValueKind = iota // an argument, or a field of one
	BlockDim                    // blockDim.x, .y, .z
	GridDim                     // gridDim.x, .y, .z
	Alignment                   // of a pointer argument, bytes
	HostValue                   // what the host alone looks at: host(block), host(dynamic)
	HostScalar                  // an argument, or a field of one, that the host alone looks at (sameAlone)
)

// Values reads the values of a launch that were the same in all launches of its configuration so
// far. What can't be read with certainty (a type not known, a NaN, which no comparison finds equal)
// is left out.
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
		if v.Argument >= len(l.Params) {
			continue
		}
		p := l.Params[v.Argument]
		end := v.Offset + v.Bits/8
		if end > len(p.Value) {
			continue
		}
		bits, usable := p.Value[v.Offset:end], v.Why == "" && v.Name != ""
		if v.Class == lowered.Pointer {
			if !usable {
				continue
			}
			// 16 bytes is what the widest load wants.
			if now && len(bits) == 8 && bits[0]&15 == 0 || !now && p.Align >= 4 && p.Align < 64 {
				add(v.Name, Alignment, recipe.Condition{Kind: recipe.Alignment, Of: v.Place(), Number: 16})
			}
			continue
		}
		if !now && end <= len(p.Same) && bytes.IndexByte(p.Same[v.Offset:end], 0) >= 0 {
			continue // another launch of this configuration had another value
		}
		if k.sameAlone(v) {
			add(v.Name, HostScalar, hostArgument(v, bits))
		}
		if text, err := v.Text(bits); err == nil && usable {
			add(v.Name, Scalar, recipe.Condition{Kind: recipe.Argument, Of: v.Place(), Value: text})
		}
	}
	return out
}

// addHidden adds what the kernel reads of its arguments and the source does not name: integers, as
// far as is known, that the host alone can look at.
func (k *Kernel) addHidden() {
	named := k.Values
	k.Decided.Hidden(func(index, byte int) bool {
		return slices.ContainsFunc(named, func(v lowered.Value) bool {
			return v.Argument == index && v.Offset <= byte && byte < v.Offset+v.Bits/8 && v.Class != lowered.Struct
		})
	}, func(index, offset, bytes int) {
		v := lowered.Value{Argument: index, Offset: offset, Bits: 8 * bytes, Class: lowered.Integer, Why: "it has no name"}
		if bytes == 0 {
			v.Class, v.Name = lowered.Unknown, fmt.Sprintf("#%d", index)
		}
		if !slices.Contains(k.Values, v) {
			k.Values = append(k.Values, v)
		}
	})
}

func hostArgument(v lowered.Value, bits []byte) recipe.Condition {
	n := int64(0)
	for i := len(bits) - 1; i >= 0; i-- {
		n = n<<8 | int64(bits[i])
	}
	unused := 64 - v.Bits
	return recipe.Condition{Kind: recipe.HostArgument, Of: v.Place(), Bytes: v.Bits / 8,
		Value: strconv.FormatInt(n<<unused>>unused, 10)}
}

// sameAlone reports whether launches like one alone (Confined) may have to have the same value:
// integers, and floating-point numbers that decide what runs.
func (k *Kernel) sameAlone(v lowered.Value) bool {
	return v.Class == lowered.Integer || v.Class == lowered.Float && k.decides(v)
}

func (k *Kernel) decides(v lowered.Value) bool {
	return k.Decided.Decides(v.Argument, v.Offset, v.Bits/8)
}

// Confined returns a recipe as second entries for launches like one launch, by what of it was seen to
// run: with the same integer arguments, grid, block and dynamic shared memory, and floating-point
// arguments that decide what runs, or with those alone that decide where something lies. An error
// says why there is none.
func (k *Kernel) Confined(r recipe.Recipe, l *profile.Launch, c check.Coverage) (recipe.Recipe, error) {
	guards, err := r.Guards()
	if why := cmp.Or(k.NoSecond, k.unseen()); err != nil || why != "" {
		return r, cmp.Or(err, errors.New(why))
	}
	if len(guards) > 1 {
		return r, errors.New("it has several entries")
	}
	g := append(guards, recipe.Guard{})[0]
	now := valuesNow(k, l)
	var host recipe.Guard
	if c.Pinned(check.Grid, 0, 1) {
		host.Conditions = append(host.Conditions, recipe.Condition{Kind: recipe.HostGrid, Size: l.Grid})
	}
	for _, v := range now {
		given := slices.ContainsFunc(g.Conditions, func(c recipe.Condition) bool {
			return c.Kind == recipe.Argument && c.Of == v.Is.Of && v.Name != v.Is.Key()
		})
		switch {
		case v.Kind == HostValue && (v.Is.Kind == recipe.HostBlock && c.Pinned(check.Block, 0, 1) || c.Unchecked() != ""),
			v.Kind == HostScalar && !given && c.Pinned(v.Is.Of.Index, v.Is.Of.Offset, v.Is.Bytes):
			host.Conditions = append(host.Conditions, v.Is)
		}
	}
	if g = g.And(host); !g.Holds(LookUp(now)) {
		return r, errors.New("it is for other launches")
	}
	out := r.Without(recipe.Second).With(g.Term())
	return out, rewrite.Check(out)
}

// unseen says why it is not known of a launch what its arguments decide, "" if it can.
func (k *Kernel) unseen() string {
	for _, v := range k.Values {
		if v.Class == lowered.Unknown && k.NoSpec == "" {
			return fmt.Sprintf("the type of %s is not known", v.Name)
		}
		if v.Class == lowered.Pointer && k.decides(v) {
			return fmt.Sprintf("what runs depends on the address %s (null, or how it is aligned)", v.Name)
		}
	}
	return k.NoSpec
}

// IsConfined reports whether all of a recipe's entries, or the recipe, are for launches like one
// launch each, as Confined makes them.
func (k *Kernel) IsConfined(r recipe.Recipe, c check.Coverage) bool {
	if c.Unchecked() == "" && len(c.Pins) == 0 {
		return true
	}
	guards, err := r.Guards()
	return err == nil && r.HasSecond() && k.unseen() == "" && !slices.ContainsFunc(guards, func(g recipe.Guard) bool {
		has := func(is func(recipe.Condition) bool) bool { return slices.ContainsFunc(g.Conditions, is) }
		_, sized := g.Dynamic()
		block, grid := g.Block(), g.Grid()
		return c.Unchecked() != "" && !sized || c.Pinned(check.Block, 0, 1) && slices.Min(block[:]) == 0 ||
			c.Pinned(check.Grid, 0, 1) && slices.Min(grid[:]) == 0 ||
			slices.ContainsFunc(k.Values, func(v lowered.Value) bool {
				return k.sameAlone(v) && c.Pinned(v.Argument, v.Offset, v.Bits/8) && !has(func(c recipe.Condition) bool {
					return c.Of == v.Place() && (c.Kind == recipe.Argument && v.Why == "" ||
						c.Kind == recipe.HostArgument && 8*c.Bytes == v.Bits)
				})
			})
	})
}

// Guard makes a guard of values.
func Guard(values []Value) recipe.Guard {
	var g recipe.Guard
	for _, v := range values {
		g.Conditions = append(g.Conditions, v.Is)
	}
	return g
}

// LookUp finds values by what a guard's conditions look at.
func LookUp(values []Value) func(key string) (string, bool) {
	have := map[string]string{}
	for _, v := range values {
		have[v.Is.Key()] = v.Text()
	}
	grid := recipe.Condition{Kind: recipe.HostGrid}
	for _, v := range values {
		if v.Kind == GridDim {
			grid.Size[v.Is.Axis] = v.Is.Number
		}
	}
	if slices.Min(grid.Size[:]) > 0 {
		have[grid.Key()] = grid.Text()
	}
	return func(key string) (string, bool) { text, ok := have[key]; return text, ok }
}

// Broken reports whether a recipe's guards ask for values that not all launches of this configuration
// have so far.
func (k *Kernel) Broken(r recipe.Recipe, l *profile.Launch) bool {
	return r.HasSecond() && !fulfilled(r, l, Values(k, l))
}

// Held reports whether a launch itself fulfils one of a recipe's guards.
func (k *Kernel) Held(r recipe.Recipe, l *profile.Launch) bool {
	return fulfilled(r, l, valuesNow(k, l))
}

func fulfilled(r recipe.Recipe, l *profile.Launch, values []Value) bool {
	have := LookUp(values)
	holds := func(r recipe.Recipe) bool {
		guards, err := r.Guards()
		return err == nil && slices.ContainsFunc(guards, func(g recipe.Guard) bool {
			return g.Holds(have)
		})
	}
	if !r.HasSecond() {
		return holds(r)
	}
	if l.Past {
		return false // the host stub, which alone could choose a second entry, is not asked
	}
	entries, err := r.Entries()
	return err == nil && slices.ContainsFunc(entries, func(e recipe.Recipe) bool {
		return holds(e) && divides(e, l)
	})
}

// divides reports whether a launch can be done as a recipe for one second entry asks for, in other
// blocks or in fewer, as the host stub does it.
func divides(e recipe.Recipe, l *profile.Launch) bool {
	m := rewrite.MannerOf(e)
	_, _, ok := m.Launch(l.Grid, l.Block)
	return m.Own() || ok && m.Block != l.Block && len(l.LaunchAttributes) == 0
}

// ArgumentNames gives the names of the arguments that a recipe's conditions look at, by their
// places; nil: it has none.
func (k *Kernel) ArgumentNames(r recipe.Recipe) map[string]string {
	var out map[string]string
	guards, err := r.Guards()
	if err != nil {
		return nil
	}
	for _, g := range guards {
		for _, c := range g.Conditions {
			for _, v := range k.Values {
				if (c.Kind <= recipe.Alignment || c.Kind == recipe.HostArgument) && v.Name != "" && v.Place() == c.Of {
					if out == nil {
						out = map[string]string{}
					}
					out[c.Of.String()] = v.Name
				}
			}
		}
	}
	return out
}
