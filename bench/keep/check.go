package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"time"

	"gnvcc/policy/check"
	"gnvcc/policy/judge"
	"gnvcc/sim/emulate"
)

// A Record is what came of one variant.
type Record struct {
	Seed      int64
	Generator string
	Flags     string
	Kernel    string
	Recipe    string
	// same: no launch that it serves differs; identical: nor does the code; differs: First; refused: there is no
	// variant; can't: the emulator or the launches can't do it
	What string
	Why  string `json:",omitempty"`
	// Draws of each kind on which it passed: those that a check would have made
	Accepted    int
	First       *Where   `json:",omitempty"`
	Launches    int      `json:",omitempty"` // that were compared
	Skipped     int      `json:",omitempty"` // that the kernel itself can't do
	Approximate bool     `json:",omitempty"` // special functions, modelled
	Serves      string   `json:",omitempty"` // which launches, by what was counted
	Own         Coverage // of the kernel's code
	Variant     Coverage
	Compiling   float64 // seconds
	Running     float64
}

// Where is the first launch that differs.
type Where struct {
	Stage    string // check 1, check 2, check 3: a draw of each kind; test; others: other arguments, too
	Draw     int    // of the stage
	Kind     int
	NaN      bool // bits of a NaN alone
	Fault    bool
	What     string
	Elements int
	Relative float64
}

// Coverage says how many instructions of floating-point arithmetic ran in the launches of the check.
type Coverage struct {
	All, Slow    int      // of the kernel; of the compiler's functions (division, square root)
	Ran, RanSlow [3]int   // after one, two, three draws of each kind
	Missing      []string `json:",omitempty"` // not of the compiler's functions, after all: the first of them
	RanTest      int      // after all draws with the usual arguments
}

const (
	checks = 3 // draws of each kind
	tests  = 1 // more, with the usual arguments
	others = 3 // more, with others
)

// draws are all of a variant.
func draws(seed int64) (out []draw) {
	for n := range checks + tests + others {
		for kind := range judge.Kinds {
			d := draw{kind: kind, seed: seed*1_000_003 + int64(n*judge.Kinds+kind)*7919, stage: "test"}
			switch {
			case n < checks:
				d.stage = fmt.Sprintf("check %d", n+1)
			case n >= checks+tests:
				d.stage, d.others = "others", true
			}
			out = append(out, d)
		}
	}
	return out
}

// A kernel is one whose variants are compared, with what its own code has computed.
type kernel struct {
	shape *shape
	seed  int64
	did   map[string]*did
}

// did is what the kernel's own code made of a launch.
type did struct {
	digest uint64
	result emulate.Result
	ran    []bool
	err    error
}

// ownLimit is how many instructions of warps a launch may have: more take too long here.
const ownLimit = 400_000

var digestSeed = maphash.MakeSeed()

func digest(m *emulate.Memory, buffers int) uint64 {
	var h maphash.Hash
	h.SetSeed(digestSeed)
	for _, b := range m.Buffers()[:buffers] {
		h.Write(b.Bytes)
	}
	return h.Sum64()
}

// compare runs all draws until one differs.
func (k *kernel) compare(ctx context.Context, p *pair, out *Record) error {
	began := time.Now()
	defer func() { out.Running = time.Since(began).Seconds() }()
	own, variant := newCovered(p.own, p.source.Kernel), newCovered(p.other, p.entry)
	var why error
	count := map[string]int{}
	out.What = "same"
	var served *check.Coverage
	for n, d := range draws(k.seed) {
		if d.served = served; n == checks*judge.Kinds && out.Accepted == checks {
			var c check.Coverage
			var why error
			c, out.Serves, why = k.serves(ctx, p)
			served, d.served = &c, &c
			if out.Serves == "never" {
				if out.What, out.Why = "never", c.Never(); why != nil {
					out.Why = why.Error()
				}
				return ctx.Err()
			}
		}
		l, err := p.launch(k.shape, k.seed, d)
		if err != nil {
			return err
		}
		if n == 0 {
			own.program, variant.program = l.first.Instructions(), l.second.Instructions()
			own.ran = make([]bool, len(own.program))
			if p.manner.Own() && sameCode(own.program, variant.program) {
				out.What = "identical"
			}
		}
		was, where, err := k.one(ctx, l, variant)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		count[d.stage]++
		switch {
		case err != nil:
			why = err
			out.Skipped++
			if out.Launches == 0 && out.Skipped == 3 || emulate.Unknown(err) {
				return why
			}
		case where != nil:
			where.Stage, where.Draw, where.Kind = d.stage, count[d.stage]-1, d.kind
			if math.IsNaN(where.Relative) { // which JSON does not have
				where.Relative = -1
			}
			out.First, out.What = where, "differs"
			out.Launches++
			return nil
		default:
			out.Launches++
			out.Approximate = out.Approximate || was.result.Approximate
			if !d.others {
				own.add(was.ran)
			}
		}
		if n < checks*judge.Kinds && n%judge.Kinds == judge.Kinds-1 && out.Launches > 0 {
			out.Accepted = n/judge.Kinds + 1
			own.note(&out.Own, out.Accepted)
			variant.note(&out.Variant, out.Accepted)
		}
		if n == (checks+tests)*judge.Kinds-1 {
			own.end(&out.Own)
			variant.end(&out.Variant)
		}
		if out.What == "identical" && out.Launches > 0 {
			return nil
		}
	}
	if out.Launches == 0 {
		return why
	}
	return nil
}

func sameCode(a, b []emulate.Instruction) bool {
	return slices.EqualFunc(a, b, func(x, y emulate.Instruction) bool { return x.Bits == y.Bits })
}

// one does a launch, and says where it differs. An error says why the kernel itself, or the emulator,
// can't do it.
func (k *kernel) one(ctx context.Context, l *launch, variant *covered) (*did, *Where, error) {
	l.own.Done, l.instead.Done = ctx.Done(), ctx.Done()
	was := k.did[l.key]
	if was == nil {
		was = &did{ran: make([]bool, len(l.first.Instructions()))}
		m := l.memory.Clone()
		l.own.Ran, l.own.Limit = was.ran, ownLimit
		was.result, was.err = l.first.Run(m, l.own)
		was.digest = digest(m, l.buffers)
		k.did[l.key] = was
	}
	if was.err != nil {
		return was, nil, was.err
	}
	if variant.ran == nil {
		variant.ran = make([]bool, len(variant.program))
	}
	m := l.memory.Clone()
	l.instead.Ran, l.instead.Limit = variant.ran, 10*was.result.Steps+100_000
	_, err := l.second.Run(m, l.instead)
	switch {
	case emulate.Unknown(err) || ctx.Err() != nil:
		return was, nil, err
	case err != nil:
		return was, &Where{Fault: true, What: err.Error()}, nil
	case digest(m, l.buffers) == was.digest:
		return was, nil, nil
	}
	want := l.memory.Clone()
	l.own.Ran = nil
	if _, err := l.first.Run(want, l.own); err != nil {
		return was, nil, err
	}
	d := judge.Compare(want, m, l.types, nil, judge.Within{})
	if d == nil {
		return was, nil, errors.New("two digests of the same memory")
	}
	return was, &Where{NaN: d.NaN, What: d.String(), Elements: d.Elements, Relative: d.Relative}, nil
}

// covered is which instructions of a program ran.
type covered struct {
	program []emulate.Instruction
	ran     []bool
	slow    int // offset from which on the compiler's functions stand
}

func newCovered(file []byte, entry string) *covered {
	return &covered{slow: functions(file, entry)}
}

func (c *covered) add(ran []bool) {
	for n, r := range ran {
		c.ran[n] = c.ran[n] || r
	}
}

// note enters what ran so far.
func (c *covered) note(to *Coverage, d int) {
	to.All, to.Slow, to.Missing = 0, 0, nil
	for n, i := range c.program {
		switch {
		case !arithmetic(i.Name):
		case i.Offset >= c.slow:
			to.Slow++
			if c.ran[n] {
				to.RanSlow[d-1]++
			}
		default:
			to.All++
			if c.ran[n] {
				to.Ran[d-1]++
			} else if len(to.Missing) < 8 {
				to.Missing = append(to.Missing, fmt.Sprintf("%s@%#x", i.Name, i.Offset))
			}
		}
	}
}

func (c *covered) end(to *Coverage) {
	for n, i := range c.program {
		if c.ran[n] && arithmetic(i.Name) && i.Offset < c.slow {
			to.RanTest++
		}
	}
}

// arithmetic tells of instructions that round, or compare numbers.
func arithmetic(name string) bool {
	switch name, _, _ = strings.Cut(name, "."); name {
	case "FADD", "FMUL", "FFMA", "FADD32I", "FMUL32I", "FFMA32I", "FMNMX", "FSET", "FSETP", "FSEL", "FCHK",
		"DADD", "DMUL", "DFMA", "DSETP", "HADD2", "HMUL2", "HFMA2", "HSET2", "HSETP2", "HMNMX2", "MUFU",
		"F2F", "F2I", "I2F", "FRND", "F2FP", "HADD2_32I", "HMUL2_32I", "HFMA2_32I":
		return true
	}
	return false
}

// functions is the offset at which the first function behind a kernel's own code begins.
func functions(file []byte, entry string) int {
	first := 1 << 30
	e, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return first
	}
	symbols, err := e.Symbols()
	if err != nil {
		return first
	}
	for _, s := range symbols {
		if int(s.Section) > 0 && int(s.Section) < len(e.Sections) && s.Value > 0 &&
			e.Sections[s.Section].Name == ".text."+entry && strings.Contains(s.Name, "__internal") {
			first = min(first, int(s.Value))
		}
	}
	return first
}
