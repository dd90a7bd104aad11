package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"strconv"
	"strings"

	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/source"
	"gnvcc/sim/emulate"
)

// Options are what a launch is like where a recipe does not say.
type options struct {
	grid, block [3]int
	dynamic     int
	rounds      int
	bytes       int
	set         []string
	seed        int64
	first       int // kind of data of the first launch
}

// A trial is one launch of both builds.
type trial struct {
	own, other      *emulate.Program
	launch, instead emulate.Launch
	memory          *emulate.Memory
	types           map[string]string // of what buffers hold, by their names
}

// trial makes a launch for which the variant is; kind chooses the data, and away launches with
// other values, which a guard inside the kernel sends elsewhere.
func (p *pair) trial(o options, kind int, away bool) (*trial, error) {
	r := rand.New(rand.NewSource(o.seed*1000 + int64(kind)))
	t := &trial{memory: emulate.NewMemory(), types: map[string]string{}}
	var err error
	if t.own, err = emulate.Load(p.own, p.source.Kernel, t.memory); err != nil {
		return nil, err
	}
	if t.other, err = emulate.Load(p.other, p.entry, t.memory); err != nil {
		return nil, err
	}
	l := emulate.Launch{Grid: o.grid, Block: o.block, Dynamic: o.dynamic}
	for n, size := range p.guard.Grid() {
		if size > 0 {
			l.Grid[n] = size
		}
	}
	required := t.own.Facts.Required
	for n, size := range p.guard.Block() {
		if size == 0 {
			size = required[n]
		}
		if size > 0 {
			l.Block[n] = size
		}
	}
	if n, ok := p.guard.Dynamic(); ok {
		l.Dynamic = n
	}
	if l.Params, err = p.arguments(t, r, o, kind, away); err != nil {
		return nil, err
	}
	t.launch, t.instead = l, l
	var ok bool
	if t.instead.Grid, t.instead.Block, ok = p.manner.Launch(l.Grid, l.Block); !ok {
		// as many times as many blocks can be shared out
		for n, by := range p.manner.Coarse {
			l.Grid[n] *= max(by, 1)
		}
		t.launch.Grid = l.Grid
		t.instead.Grid, t.instead.Block, ok = p.manner.Launch(l.Grid, l.Block)
	}
	if !ok {
		return nil, fmt.Errorf("a grid of %v blocks of %v threads can't be launched so", l.Grid, l.Block)
	}
	t.instead.Dynamic += p.manner.Reserve.Dynamic
	return t, nil
}

// arguments makes up the parameters.
func (p *pair) arguments(t *trial, r *rand.Rand, o options, kind int, away bool) ([]byte, error) {
	facts := t.own.Facts
	out := make([]byte, facts.ParamBytes)
	for _, q := range facts.Params {
		if end := q.Offset + q.Size; end > len(out) {
			out = append(out, make([]byte, end-len(out))...)
		}
	}
	fixed := map[recipe.Place]string{}
	for _, s := range o.set {
		name, value, _ := strings.Cut(s, "=")
		fixed[p.place(name)] = value
	}
	for _, c := range p.guard.Conditions {
		if c.Kind == recipe.Argument && !away {
			fixed[c.Of] = c.Value
		}
	}
	for _, q := range facts.Params {
		known := false
		for _, v := range p.values {
			if v.Argument != q.Ordinal || v.Offset+v.Bits/8 > q.Size || v.Bits == 0 {
				continue
			}
			known = true
			at := out[q.Offset+v.Offset:]
			if v.Class == source.Pointer {
				name := fmt.Sprintf("#%d", v.Argument)
				b := t.memory.Allocate(name, fill(r, kind, v.Type, o.bytes))
				t.types[name] = v.Type
				put(at, v.Bits, b.Address)
				continue
			}
			bits, err := value(r, v, fixed[v.Place()], kind)
			if err != nil {
				return nil, err
			}
			put(at, v.Bits, bits)
		}
		if !known {
			if err := p.guess(t, r, o, q.Ordinal, out[q.Offset:q.Offset+q.Size], kind); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// guess is an argument of which the source does not tell: one of 64 bits is a pointer.
func (p *pair) guess(t *trial, r *rand.Rand, o options, ordinal int, at []byte, kind int) error {
	if len(at) == 8 {
		name, is := fmt.Sprintf("#%d", ordinal), "float*"
		if p.source.Code != nil && ordinal < len(p.source.Code.Params) {
			is = p.source.Code.Params[ordinal].Type
		}
		b := t.memory.Allocate(name, fill(r, kind, is, o.bytes))
		t.types[name] = is
		put(at, 64, b.Address)
		return nil
	}
	if len(at) == 4 && ordinal < len(p.source.Signature) && p.source.Signature[ordinal] == ".f32" {
		put(at, 32, uint64(math.Float32bits(float32(number(r, kind, 1, 1e-40, 36)))))
		return nil
	}
	for n := range at {
		at[n] = 0
	}
	at[0] = byte(1 + r.Intn(8))
	return nil
}

func put(at []byte, bits int, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	copy(at, b[:bits/8])
}

// place is that of a name.
func (p *pair) place(name string) recipe.Place {
	if g, err := recipe.ParseGuard(name + "=1"); err == nil && len(g.Conditions) == 1 {
		at := g.Conditions[0].Of
		if at.Name == "" {
			return at
		}
		for _, v := range p.values {
			if v.Name == at.Name {
				return v.Place()
			}
		}
	}
	return recipe.Place{Index: -1}
}

// value is an argument's: the one that is given, else one of the kind.
func value(r *rand.Rand, v source.Value, text string, kind int) (uint64, error) {
	if v.Class == source.Float {
		f := number(r, kind, 1, 1e-40, 10)
		if text != "" {
			var err error
			if f, err = strconv.ParseFloat(text, v.Bits); err != nil {
				return 0, fmt.Errorf("%s=%s: %w", v.Name, text, err)
			}
		}
		if v.Bits == 32 {
			return uint64(math.Float32bits(float32(f))), nil
		}
		return math.Float64bits(f), nil
	}
	if text == "" {
		return uint64([]int{1, 2, 3, 4, 5, 8, 0, 7}[(kind+r.Intn(2))%8]), nil
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return uint64(n), nil
	}
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: %w", v.Name, text, err)
	}
	return n, nil
}
