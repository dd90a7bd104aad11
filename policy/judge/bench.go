package judge

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"slices"

	"gnvcc/policy"
	"gnvcc/sim/cubin"
	"gnvcc/sim/emulate"
)

// Launches made ready: done with the original, in all orders, so that an edit costs its own runs
// alone.

// A Code is one build of a kernel.
type Code struct {
	Cubin  []byte
	Kernel string
}

// Facts are what its cubin says of it.
func (c Code) Facts() (cubin.Kernel, error) {
	f, err := cubin.Read(c.Cubin)
	if err != nil {
		return cubin.Kernel{}, err
	}
	k, ok := f.Kernel(c.Kernel)
	if !ok {
		return k, fmt.Errorf("its cubin has no kernel %s", c.Kernel)
	}
	return k, nil
}

// Same reports two builds that are the same machine code, on the same data of their own, for the
// same launches. Where that is not known it says no.
func (c Code) Same(o Code) bool {
	var hash [2]string
	var facts [2]cubin.Kernel
	for n, x := range []Code{c, o} {
		f, err := cubin.Read(x.Cubin)
		if err != nil || slices.ContainsFunc(f.Globals, func(g cubin.Global) bool {
			return g.Section == ".nv.global.init" // which the hash of the code does not have
		}) {
			return false
		}
		if hash[n], err = policy.CodeHash(x.Cubin, x.Kernel); err != nil {
			return false
		}
		facts[n], _ = f.Kernel(x.Kernel)
	}
	return hash[0] == hash[1] && reflect.DeepEqual(facts[0], facts[1])
}

// A Shape is how made-up launches are done.
type Shape struct {
	Grid, Block [3]int
	Dynamic     int
	Bytes       int // of each buffer
	Rounds      int // launches, with other data
	Seed        int64
	// some launches are in two and three dimensions, where the original bears that
	Turns bool
}

// UsualShape is enough for barriers between warps and between blocks to matter.
func UsualShape() Shape {
	return Shape{Grid: [3]int{4, 1, 1}, Block: [3]int{64, 1, 1}, Bytes: 1 << 16,
		Rounds: Kinds, Seed: 1, Turns: true}
}

// orders are those in which each launch is done; the first is the simple one.
var orders = []struct {
	order int64
	fill  byte // of shared memory: who reads it before it was written shows
}{{0, 0}, {1, 0xff}, {2, 0x5a}, {3, 0}}

// mostSteps bounds a launch of the original, instructions of warps: about ten seconds.
const mostSteps = 1 << 24

// A Bench is a kernel with its launches.
type Bench struct {
	own      Code
	facts    cubin.Kernel
	launches []*prepared
	Skipped  []string // why launches can't be done
}

// A prepared launch has what the original leaves.
type prepared struct {
	what     string
	memory   *emulate.Memory
	launch   emulate.Launch
	types    map[string]string
	held     map[string][]byte // what variables hold, by name; others hold what the code gives them
	after    []*emulate.Memory // in each order
	unstable []map[int]bool    // bytes of each buffer that depend on the order
	steps    int
	turned   bool // it has other dimensions than a kernel of one would be launched in
	special  bool // it asks the special function units, whose results are not known
}

// NewBench makes launches up; captured ones are added.
func NewBench(ctx context.Context, own Code, s Signature, shape Shape) (*Bench, error) {
	b := &Bench{own: own}
	var err error
	if b.facts, err = own.Facts(); err != nil {
		return nil, err
	}
	s.Facts = b.facts
	for n, size := range b.facts.Required {
		if size > 0 {
			shape.Block[n] = size
		}
	}
	for kind := range shape.Rounds {
		r := rand.New(rand.NewSource(shape.Seed*1000 + int64(kind)))
		p := &prepared{what: fmt.Sprintf("made-up launch %d", kind+1), memory: emulate.NewMemory(),
			types: map[string]string{}}
		p.launch = emulate.Launch{Grid: shape.Grid, Block: shape.Block, Dynamic: shape.Dynamic}
		if flat := b.facts.Required == [3]int{}; shape.Turns && flat {
			switch kind {
			case 3:
				p.launch.Grid, p.launch.Block, p.turned = [3]int{2, 3, 1}, [3]int{16, 4, 1}, true
			case 5:
				p.launch.Grid, p.launch.Block, p.turned = [3]int{2, 2, 2}, [3]int{8, 4, 2}, true
			}
		}
		of := s
		if kind%2 == 0 { // sizes of full launches, and a little off
			threads := shape.Grid[0] * shape.Block[0]
			of.Sizes = []int{threads, threads - 3, shape.Block[0], 33, 16, threads + 5}
		}
		if p.launch.Params, err = of.Arguments(p.memory, p.types, r, kind, shape.Bytes); err != nil {
			return nil, err
		}
		if err := b.add(ctx, p); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// add does a launch with the original. One that can't be done is skipped, with the reason; an
// error: none can.
func (b *Bench) add(ctx context.Context, p *prepared) error {
	own, err := emulate.Load(b.own.Cubin, b.own.Kernel, p.memory)
	if err != nil {
		return err
	}
	for _, x := range p.memory.Buffers() {
		if held, ok := p.held[x.Name]; ok && len(held) == len(x.Bytes) {
			copy(x.Bytes, held)
		}
	}
	for n := range orders {
		m, ran, fault, err := p.run(ctx, own, p.memory, n, mostSteps)
		if err != nil {
			return err
		}
		if fault != nil {
			b.Skipped = append(b.Skipped, fmt.Sprintf("%s: the original: %v", p.what, fault))
			return nil
		}
		p.steps, p.special = max(p.steps, ran.Steps), p.special || ran.Approximate
		p.after = append(p.after, m)
		if n > 0 {
			p.note(p.after[0], m)
		}
	}
	if p.turned && slices.ContainsFunc(p.unstable, func(at map[int]bool) bool { return len(at) > 0 }) {
		return nil // threads that it takes for one another: it is not for such blocks
	}
	b.launches = append(b.launches, p)
	return nil
}

// run does a launch in one of the orders, on a copy of memory. fault is what a kernel did that can't
// be done; an error: it can't be run here, or it is no longer waited for.
func (p *prepared) run(ctx context.Context, code *emulate.Program, start *emulate.Memory, order,
	limit int) (after *emulate.Memory, ran emulate.Result, fault, err error) {
	l, after := p.launch, start.Clone()
	l.Order, l.Fill, l.Done, l.Limit = orders[order].order, orders[order].fill, ctx.Done(), limit
	ran, fault = code.Run(after, l)
	switch {
	case ctx.Err() != nil:
		return nil, ran, nil, fmt.Errorf("no time was left to judge it: %w", ctx.Err())
	case emulate.Unknown(fault):
		return nil, ran, nil, fault
	}
	return after, ran, fault, nil
}

// note enters the bytes that the original leaves otherwise in another order.
func (p *prepared) note(first, other *emulate.Memory) {
	list := other.Buffers()
	for n, was := range first.Buffers() {
		if len(p.unstable) <= n {
			p.unstable = append(p.unstable, map[int]bool{})
		}
		for at, x := range was.Bytes {
			if x != list[n].Bytes[at] {
				p.unstable[n][at] = true
			}
		}
	}
}

// poisoned is a launch with other bytes where the original stores: an edit that takes its result
// from there, or does nothing, shows. nil: it stores nowhere.
func (b *Bench) poisoned(ctx context.Context, p *prepared) *prepared {
	m := p.memory.Clone()
	for _, x := range m.Buffers() {
		x.Stored = make([]bool, len(x.Bytes))
	}
	own, err := emulate.Load(b.own.Cubin, b.own.Kernel, m)
	if err != nil {
		return nil
	}
	l := p.launch
	l.Done = ctx.Done()
	if _, err := own.Run(m, l); err != nil {
		return nil
	}
	out := &prepared{what: p.what + " with its outputs overwritten", memory: p.memory.Clone(),
		launch: p.launch, types: p.types}
	any := false
	list := m.Buffers()
	for n, x := range out.memory.Buffers() {
		for at, stored := range list[n].Stored {
			if stored {
				x.Bytes[at] = ^x.Bytes[at] ^ byte(at*37)&1
				any = true
			}
		}
	}
	if !any {
		return nil
	}
	return out
}

// errNone is for a bench without launches.
var errNone = errors.New("no launch of the original can be done without a GPU")
