package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strconv"
	"strings"

	"gnvcc/policy/check"
	"gnvcc/policy/judge"
	"gnvcc/rewrite"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/emulate"
)

// A shape is how a kernel is launched: each list begins with what is usual.
type shape struct {
	kernel  string // as in the source
	block   [3]int
	dynamic int
	grids   [][3]int
	values  []argument
	loops   []string // where a recipe may unroll: "@1", "@f.2"
	bytes   int      // of each buffer, at least
	small   bool     // integers in memory are usually 0 to 3
}

type argument struct {
	name   string
	values []string
}

// shapes reads what the generators write: KERNEL BLOCK DYNAMIC GRIDS NAME=VALUES... LOOPS a
// line.
func shapes(text string) (map[string]*shape, error) {
	out := map[string]*shape{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 4 {
			return nil, fmt.Errorf("%q says of no launch", line)
		}
		s := &shape{kernel: words[0], bytes: 1 << 18}
		var err error
		if s.block, err = size(words[1]); err != nil {
			return nil, err
		}
		if s.dynamic, err = strconv.Atoi(words[2]); err != nil {
			return nil, err
		}
		for _, g := range strings.Split(words[3], ",") {
			grid, err := size(g)
			if err != nil {
				return nil, err
			}
			s.grids = append(s.grids, grid)
		}
		for _, w := range words[4:] {
			if w[0] == '@' {
				s.loops = strings.Split(w, ",")
				continue
			}
			name, values, _ := strings.Cut(w, "=")
			if name == "memory" {
				s.small = values == "small"
				continue
			}
			s.values = append(s.values, argument{name, strings.Split(values, ",")})
		}
		out[s.kernel] = s
	}
	return out, nil
}

// size reads a size of three dimensions.
func size(text string) (out [3]int, err error) {
	parts := strings.Split(text, "x")
	if len(parts) > 3 {
		return out, fmt.Errorf("%q is no size: 64x1x1 is one", text)
	}
	for n := range out {
		out[n] = 1
		if n < len(parts) {
			if out[n], err = strconv.Atoi(parts[n]); err != nil || out[n] < 1 {
				return out, fmt.Errorf("%q is no size: 64x1x1 is one", text)
			}
		}
	}
	return out, nil
}

// A draw is one launch's data: of which kind its floating-point numbers are, and from which seed.
// A draw of other arguments has other integers, scalars and grids, too, where the recipe leaves
// them free; all others have the usual ones, and the same integers in memory.
type draw struct {
	stage  string
	kind   int
	seed   int64
	others bool
	served *check.Coverage // which of these launches the recipe serves; nil: all
}

// A launch is a draw made up for a pair of programs.
type launch struct {
	key           string // of what the own program computes
	own, instead  emulate.Launch
	memory        *emulate.Memory
	types         map[string]string
	first, second *emulate.Program
	buffers       int // of memory, without what the variant alone has
}

// mostThreads are as many as a launch may have here.
const mostThreads = 40_000

// launch makes up a draw's launch.
func (p *pair) launch(s *shape, seed int64, d draw) (*launch, error) {
	r := rand.New(rand.NewSource(d.seed))
	pick := func(n int, pinned bool) int {
		if !d.others {
			return 0
		}
		if n = r.Intn(n); pinned {
			return 0
		}
		return n
	}
	fixed := map[recipe.Place]string{}
	for _, a := range s.values {
		place := findPlace(p.values, a.name)
		v := a.values[pick(len(a.values), d.pinned(p, place))]
		if !d.others && d.kind%2 == 1 && slices.ContainsFunc(p.values, func(v lowered.Value) bool {
			return v.Class == lowered.Float && v.Place() == place
		}) {
			v = mantissa(v, d.kind == 3, r)
		}
		fixed[place] = v
	}
	for _, c := range p.guard.Conditions {
		if c.Kind == recipe.Argument {
			fixed[c.Of] = c.Value
		}
	}
	l := &launch{types: map[string]string{}}
	l.own = emulate.Launch{Grid: s.grids[pick(len(s.grids), d.served != nil && d.served.Pinned(check.Grid, 0, 1))], Block: s.block, Dynamic: s.dynamic}
	for n, size := range p.guard.Grid() {
		if size > 0 {
			l.own.Grid[n] = size
		}
	}
	for n, size := range p.guard.Block() {
		if size > 0 {
			l.own.Block[n] = size
		}
	}
	if n, ok := p.guard.Dynamic(); ok {
		l.own.Dynamic = n
	}
	if err := l.sizes(p); err != nil {
		return nil, err
	}
	grid, block := l.own.Grid, l.own.Block
	threads := grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2]
	if threads > mostThreads {
		return nil, fmt.Errorf("%d threads are too many", threads)
	}
	params, err := l.data(p, s, fixed, d, seed, r, max(s.bytes, 32*threads))
	if err != nil {
		return nil, err
	}
	l.own.Params, l.instead.Params = params, params
	l.buffers = len(l.memory.Buffers())
	if l.second, err = emulate.Load(p.other, p.entry, l.memory); err != nil {
		return nil, err
	}
	l.key = fmt.Sprint(d, grid, block, l.own.Dynamic, params)
	return l, nil
}

// mantissa is a number of the same sign and magnitude, as gnvcc varies float arguments: in one kind
// also of another magnitude, where 0 is another number.
func mantissa(text string, far bool, r *rand.Rand) string {
	f, err := strconv.ParseFloat(text, 64)
	if far && err == nil {
		if f == 0 {
			f = 1
		}
		f = math.Ldexp(f, r.Intn(7)-3)
	}
	if _, e := math.Frexp(f); err == nil && f != 0 {
		return fmt.Sprint(math.Copysign(math.Ldexp(0.5+r.Float64()/2, e), f))
	}
	return text
}

// sizes says how the variant is launched in the kernel's place.
func (l *launch) sizes(p *pair) error {
	var ok bool
	l.instead = l.own
	if l.instead.Grid, l.instead.Block, ok = p.manner.Launch(l.own.Grid, l.own.Block); !ok {
		// as many times as many blocks can be shared out
		for n, by := range p.manner.Coarse {
			l.own.Grid[n] *= max(by, 1)
		}
		l.instead.Grid, l.instead.Block, ok = p.manner.Launch(l.own.Grid, l.own.Block)
	}
	if !ok {
		return fmt.Errorf("a grid of %v blocks of %v threads can't be launched so", l.own.Grid,
			l.own.Block)
	}
	l.instead.Dynamic += p.manner.Reserve.Dynamic
	return nil
}

// data fills the memory, and makes the parameters up.
func (l *launch) data(p *pair, s *shape, fixed map[recipe.Place]string, d draw, seed int64, r *rand.Rand,
	bytes int) ([]byte, error) {
	params, err := l.filled(p, fixed, d.kind, r)
	if err != nil {
		return nil, err
	}
	program, memory := l.first, l.memory
	if !d.others && slices.ContainsFunc(memory.Buffers(), func(b *emulate.Buffer) bool {
		return l.types[b.Name] != "" && !floating(l.types[b.Name])
	}) {
		if _, err := l.filled(p, fixed, 0, rand.New(rand.NewSource(seed))); err != nil {
			return nil, err
		}
		usual := l.memory.Buffers()
		for n, b := range memory.Buffers() {
			if is := l.types[b.Name]; is != "" && !floating(is) {
				copy(b.Bytes, usual[n].Bytes)
			}
		}
	}
	l.first, l.memory = program, memory
	for _, b := range memory.Buffers() {
		if is := p.tables[b.Name]; is.Free() && (d.others || d.kind > 0) { // as gnvcc varies them
			table(b.Bytes, is, r)
		}
		if is := l.types[b.Name]; is != "" {
			if s.small && !d.others && !floating(is) {
				for n := range b.Bytes {
					b.Bytes[n] &= []byte{3, 0, 0, 0}[n%4]
				}
			}
			b.Bytes = repeated(b.Bytes, bytes)
		}
	}
	return params, nil
}

// table fills one with full mantissas.
func table(b []byte, is rewrite.Numbers, r *rand.Rand) {
	for n := 0; n+8 <= len(b); n += 8 {
		switch f := 4*r.Float64() - 2; is {
		case rewrite.Doubles:
			binary.LittleEndian.PutUint64(b[n:], math.Float64bits(f))
		case rewrite.Floats:
			binary.LittleEndian.PutUint32(b[n:], math.Float32bits(float32(f)))
			binary.LittleEndian.PutUint32(b[n+4:], math.Float32bits(float32(4*r.Float64()-2)))
		}
	}
}

// filled makes a memory with the kernel's variables and buffers of a kind of numbers.
func (l *launch) filled(p *pair, fixed map[recipe.Place]string, kind int, r *rand.Rand) (
	params []byte, err error) {
	l.memory = emulate.NewMemory()
	if l.first, err = emulate.Load(p.own, p.source.Kernel, l.memory); err != nil {
		return nil, err
	}
	s := judge.Signature{Facts: l.first.Facts, Values: p.values, PTX: p.source.Signature, Fixed: fixed}
	if p.source.Code != nil {
		for _, q := range p.source.Code.Params {
			s.Types = append(s.Types, q.Type)
		}
	}
	const distinct = 1 << 16 // bytes, which are repeated
	return s.Arguments(l.memory, l.types, r, kind, distinct)
}

// floating tells of a pointer's type what it leads to.
func floating(is string) bool {
	for _, name := range []string{"float", "double", "half", "bfloat", "T*"} {
		if strings.Contains(is, name) {
			return true
		}
	}
	return false
}

func repeated(b []byte, size int) []byte {
	return bytes.Repeat(b, (size+len(b)-1)/len(b))
}

// findPlace is that of a name among values, or of a place as recipes write it.
func findPlace(values []lowered.Value, name string) recipe.Place {
	if g, err := recipe.ParseGuard(name + "=1"); err == nil && len(g.Conditions) == 1 {
		at := g.Conditions[0].Of
		if at.Name == "" {
			return at
		}
		for _, v := range values {
			if v.Name == at.Name {
				return v.Place()
			}
		}
	}
	return recipe.Place{Index: -1}
}
