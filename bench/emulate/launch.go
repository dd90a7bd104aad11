package main

import (
	"fmt"
	"math/rand"
	"strings"

	"gnvcc/policy/judge"
	"gnvcc/rewrite/recipe"
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
	s := judge.Signature{Facts: t.own.Facts, Values: p.values, PTX: p.source.Signature,
		Fixed: map[recipe.Place]string{}}
	if p.source.Code != nil {
		for _, q := range p.source.Code.Params {
			s.Types = append(s.Types, q.Type)
		}
	}
	for _, text := range o.set {
		name, value, _ := strings.Cut(text, "=")
		s.Fixed[judge.FindPlace(p.values, name)] = value
	}
	for _, c := range p.guard.Conditions {
		if c.Kind == recipe.Argument && !away {
			s.Fixed[c.Of] = c.Value
		}
	}
	return s.Arguments(t.memory, t.types, r, kind, o.bytes)
}
