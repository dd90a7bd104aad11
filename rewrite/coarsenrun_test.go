package rewrite

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite/coarsen"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// Random kernels, run as they are over a grid and coarsened over a smaller one, by the interpreter
// of tilemachine_test.go: memory must come out the same.

// A coarseProgram is a kernel in the making.
type coarseProgram struct {
	rng      *rand.Rand
	body     strings.Builder
	labels   int
	depth    int
	together bool // with shared memory and barriers: only small ways go by the block
	calls    bool
}

// Registers: r0 .. r3 are the same for all blocks of a row, r4 .. r7 are not; rd0 is the array that
// is read, rd1 the one with a slot of 64 bytes for each thread, at rd2, and rd3 that of counters.
const coarseHead = `.version 7.8
.target sm_80
.address_size 64
.func (.param .b32 mix_retval0) mix(.param .b32 mix_param_0)
{
	.reg .b32 %r<4>;
	ld.param.u32 %r1, [mix_param_0];
	mul.lo.u32 %r2, %r1, 2654435761;
	shr.u32 %r3, %r1, 7;
	xor.b32 %r2, %r2, %r3;
	st.param.b32 [mix_retval0+0], %r2;
	ret;
}
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
	.reg .pred %p<200>;
	.reg .b32 %r<20>;
	.reg .b64 %rd<8>;
`

func (p *coarseProgram) line(format string, args ...any) {
	fmt.Fprintf(&p.body, "\t"+format+"\n", args...)
}

// common and own are registers.
func (p *coarseProgram) common() string { return fmt.Sprintf("%%r%d", p.rng.Intn(4)) }
func (p *coarseProgram) any() string    { return fmt.Sprintf("%%r%d", p.rng.Intn(8)) }
func (p *coarseProgram) own() string    { return fmt.Sprintf("%%r%d", 4+p.rng.Intn(4)) }

// compare sets a predicate, which it returns. same: to what all blocks agree on.
func (p *coarseProgram) compare(same bool) string {
	p.labels++
	of := p.any
	if same {
		of = p.common
	}
	pred := fmt.Sprintf("%%p%d", p.labels)
	p.line("and.b32 %%r17, %s, 7;", of())
	p.line("setp.%s.u32 %s, %%r17, %d;", []string{"lt", "ge", "eq", "ne"}[p.rng.Intn(4)], pred,
		p.rng.Intn(8))
	return pred
}

func (p *coarseProgram) block(n int) {
	for range n {
		p.statement()
	}
}

func (p *coarseProgram) statement() {
	to, from := p.own(), p.any
	if p.rng.Intn(3) == 0 {
		to, from = p.common(), p.common
	}
	kinds := 14
	if p.calls {
		kinds++
	}
	switch kind := p.rng.Intn(kinds); {
	case kind == 14:
		p.line("{")
		p.line(".reg .b32 temp_param_reg;")
		p.line(".param .b32 param0;")
		p.line("st.param.b32 [param0+0], %s;", from())
		p.line(".param .b32 retval0;")
		p.line("call.uni (retval0), mix, (param0);")
		p.line("ld.param.b32 %s, [retval0+0];", to)
		p.line("}")
	case kind < 4:
		p.line("%s.s32 %s, %s, %s;", []string{"add", "sub", "min", "mul.lo"}[p.rng.Intn(4)], to, from(),
			from())
	case kind == 4:
		p.line("@%s mov.u32 %s, %d;", p.compare(true), to, p.rng.Intn(9))
	case kind == 5:
		p.line("@!%s mov.u32 %s, %s;", p.compare(false), p.own(), p.any())
	case kind == 6 && p.rng.Intn(2) == 0: // what the thread may have stored itself
		p.line("ld.global.u32 %s, [%%rd2+%d];", p.own(), 4*p.rng.Intn(16))
	case kind < 8: // a load
		p.line("and.b32 %%r16, %s, 1023;", from())
		p.line("mad.wide.u32 %%rd4, %%r16, 4, %%rd0;")
		p.line("ld.global.u32 %s, [%%rd4+%d];", to, 4*p.rng.Intn(3))
	case kind == 8:
		p.line("st.global.u32 [%%rd2+%d], %s;", 4*p.rng.Intn(16), p.any())
	case kind == 9:
		p.line("red.global.add.u32 [%%rd3+%d], %s;", 4*p.rng.Intn(4), p.any())
	case kind == 10 && p.together:
		p.line("st.shared.u32 [%%r14+4], %s;", p.any())
		p.line("bar.sync 0;")
		p.line("ld.shared.u32 %s, [%%r15+4];", p.own())
		p.line("bar.sync 0;")
	case kind < 12 && p.depth < 3:
		p.choice()
	case p.depth < 2:
		p.loop()
	}
}

// choice is an if, with an else or without.
func (p *coarseProgram) choice() {
	if p.together && p.rng.Intn(2) == 0 {
		p.ways(0)
		return
	}
	pred := p.compare(p.together || p.rng.Intn(2) == 0)
	n := p.labels
	together := p.together
	p.together = false // barriers are for all threads
	p.depth++
	if p.rng.Intn(6) == 0 && !together {
		p.line("@%s%s %s;", []string{"", "!"}[p.rng.Intn(2)], pred, []string{"ret", "exit", "bra.uni END"}[p.rng.Intn(3)])
	} else {
		p.line("@%s%s bra L%d;", []string{"", "!"}[p.rng.Intn(2)], pred, n)
		p.part(together, 1+p.rng.Intn(3))
		if p.rng.Intn(2) == 0 {
			p.line("bra.uni M%d;", n)
			p.line("L%d:", n)
			p.part(together, 1+p.rng.Intn(3))
			p.line("M%d:", n)
		} else {
			p.line("L%d:", n)
		}
	}
	p.depth--
	p.together = together
}

// ways are those of an if on which blocks may disagree, without barriers and loops: with an else or
// without, or of two conditions of which the second is not asked where the first holds.
func (p *coarseProgram) ways(depth int) {
	part := func() {
		for range 1 + p.rng.Intn(3) {
			switch p.rng.Intn(7) {
			case 0:
				if depth < 3 {
					p.ways(depth + 1)
				}
			case 1:
				p.line("st.shared.u32 [%%r14+4], %s;", p.any())
			case 2:
				p.line("@!%s st.global.u32 [%%rd2+%d], %s;", p.compare(false), 4*p.rng.Intn(16), p.any())
			case 3:
				p.line("red.global.add.u32 [%%rd3+%d], %s;", 4*p.rng.Intn(4), p.any())
			case 4:
				p.line("and.b32 %%r16, %s, 1023;", p.any())
				p.line("mad.wide.u32 %%rd4, %%r16, 4, %%rd0;")
				p.line("ld.global.u32 %s, [%%rd4];", p.own())
			default:
				p.line("add.s32 %s, %s, %s;", p.any(), p.any(), p.any())
			}
		}
	}
	first := p.compare(false)
	n := p.labels
	switch p.rng.Intn(3) {
	case 0:
		p.line("@%s bra L%d;", first, n)
		part()
	case 1:
		p.line("@!%s bra L%d;", first, n)
		part()
		p.line("bra.uni M%d;", n)
		p.line("L%d:", n)
		part()
		p.line("M%d:", n)
		return
	case 2:
		p.line("@%s bra M%d;", first, n)
		part()
		p.line("@%s bra L%d;", p.compare(false), n)
		part()
		p.line("M%d:", n)
		part()
	}
	p.line("L%d:", n)
}

// part is what is done on one of two ways. Where blocks must agree it holds arithmetic alone.
func (p *coarseProgram) part(together bool, n int) {
	if !together {
		p.block(n)
		return
	}
	for range n {
		p.line("add.s32 %s, %s, %s;", p.own(), p.any(), p.any())
	}
}

// loop runs a few times: as often for all blocks, or not.
func (p *coarseProgram) loop() {
	p.labels++
	n := p.labels
	times := p.common()
	if !p.together && p.rng.Intn(2) == 0 {
		times = p.any()
	}
	if p.together {
		times = "3"
	}
	count := fmt.Sprintf("%%r%d", 10+p.depth)
	p.line("and.b32 %s, %s, 3;", count, times)
	p.line("L%d:", n)
	p.depth++
	p.block(1 + p.rng.Intn(3))
	p.depth--
	p.line("sub.s32 %s, %s, 1;", count, count)
	p.line("setp.gt.s32 %%p%d, %s, 0;", n, count)
	p.line("@%%p%d bra L%d;", n, n)
}

func newCoarseProgram(rng *rand.Rand, together, calls bool) string {
	p := &coarseProgram{rng: rng, together: together, calls: calls}
	p.body.WriteString(coarseHead)
	if together {
		p.line(".shared .align 4 .b8 near[40];")
		p.line(".shared .align 4 .b8 first[4];")
	}
	p.line("ld.param.u64 %%rd0, [a];")
	p.line("ld.param.u64 %%rd1, [b];")
	p.line("ld.param.u64 %%rd3, [c];")
	p.line("ld.param.u32 %%r0, [n];")
	for n, special := range []string{"%tid.x", "%ntid.x", "%ctaid.y", "%ctaid.x", "%nctaid.x"} {
		p.line("mov.u32 %%r%d, %s;", []int{1, 2, 3, 4, 5}[n], special)
	}
	p.line("mad.lo.s32 %%r6, %%r4, %%r2, %%r1;") // the place in the row
	p.line("mul.lo.s32 %%r8, %%r5, %%r2;")
	p.line("mad.lo.s32 %%r9, %%r8, %%r3, %%r6;")
	p.line("mad.wide.u32 %%rd2, %%r9, 64, %%rd1;")
	p.line("mul.lo.s32 %%r7, %%r9, 5;")
	if together { // each thread writes its own place, and reads its neighbour's
		p.line("mov.u32 %%r14, near;")
		p.line("mad.lo.s32 %%r15, %%r1, 4, %%r14;")
		p.line("xor.b32 %%r16, %%r1, 1;")
		p.line("mad.lo.s32 %%r14, %%r16, 4, %%r14;")
	} else if rng.Intn(2) == 0 { // what most kernels begin with
		p.line("setp.ge.s32 %%p0, %%r6, %d;", 3+rng.Intn(12))
		p.line("@%%p0 bra END;")
	}
	p.block(6 + rng.Intn(14))
	for i := range 8 {
		p.line("st.global.u32 [%%rd2+%d], %%r%d;", 4*i, i)
	}
	p.line("END:")
	p.line("ret;")
	return p.body.String() + "}\n"
}

// coarseDynamic is the dynamic shared memory of launches of random kernels, bytes.
const coarseDynamic = 40

// coarseRun gives what a kernel stores.
func coarseRun(t *testing.T, text []byte, grid [3]int) (map[uint64]byte, error) {
	t.Helper()
	m, err := ptx.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	dynamic := 0
	if bytes.Contains(text, []byte(".extern")) && !bytes.Contains(text, []byte("gnvcc_jam_shared")) {
		dynamic = coarseDynamic
	}
	machine, err := newTileMachine(m.Entry("k"), [3]int{4, 1, 1}, dynamic)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	// a predicate that nobody has set counts for nothing under a guard
	machine.strays = bytes.Contains(text, []byte("%gnvcc_jg"))
	machine.params = map[string]uint64{"a": 1 << 20, "b": 1 << 24, "c": 1 << 28, "n": 5}
	err = machine.run(grid, func(map[uint64]uint16) {})
	return machine.global, err
}

func TestCoarsenRuns(t *testing.T) {
	ran := map[string]int{}
	rounds := kits.Rounds(400)
	for seed := range int64(rounds) {
		rng := rand.New(rand.NewSource(seed))
		text := []byte(newCoarseProgram(rng, seed%4 >= 2, seed%5 > 1))
		grid := [3]int{4, 2, 1}
		if seed%8 >= 4 {
			grid = [3]int{5, 3, 1}
		}
		dynamic := 0
		if seed%16 >= 8 && bytes.Contains(text, []byte(".shared .align 4 .b8 near[40];")) {
			text = bytes.Replace(text, []byte(".shared .align 4 .b8 near[40];"), nil, 1)
			text = bytes.Replace(text, []byte(".visible"), []byte(".extern .shared .align 4 .b8 near[];\n.visible"), 1)
			dynamic = coarseDynamic
		}
		want, err := coarseRun(t, text, grid)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		for _, value := range []string{"2x1x1", "4x1x1", "1x2x1"} {
			r := mustRecipe(t, "coarsen="+value)
			by := coarsen.Of(r)
			o := Options{Coarse: map[string][3]int{"k": by}, Dynamic: map[string]int{"k": dynamic},
				Grids: map[string][3]int{"k": grid}}
			out, refused, err := o.apply(text, map[string]recipe.Recipe{"k": r})
			if err != nil {
				t.Fatal(err)
			}
			if refused["k"] != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, value, refused["k"], text)
			}
			small, rest := grid, 0
			for d := range small {
				rest += small[d] % by[d]
				small[d] = small[d]/by[d] + small[d]%by[d]
			}
			got, err := coarseRun(t, out, small)
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s\n%s", seed, value, err, text, out)
			}
			if !maps.Equal(got, want) {
				t.Fatalf("seed %d, %s: other memory\n%s\n%s", seed, value, text, out)
			}
			ran[value]++
			if n := bytes.Count(text, []byte("call.uni")); n > 0 {
				ran["calls"]++
				_, jammed, _ := bytes.Cut(out, []byte("%gnvcc_jb0"))
				jammed, _, _ = bytes.Cut(jammed, []byte("$gnvcc_jam_leave0:"))
				jammed, _, _ = bytes.Cut(jammed, []byte("$gnvcc_jam_left:"))
				switch bytes.Count(jammed, []byte("call.uni")) {
				case n:
					ran["calls for all turns"]++
				case n * max(by[0], by[1]):
					ran["calls for each turn"]++
				}
			}
			if rest > 0 {
				ran["a rest"]++
			}
			if dynamic > 0 {
				ran["dynamic"]++
			}
			switch {
			case bytes.Contains(out, []byte("_resume1:")):
				ran["several branches on which blocks disagree"]++
			case bytes.Contains(out, []byte("_resume0:")):
				ran["one such branch"]++
			case bytes.Contains(out, []byte("gnvcc_jam_shared")):
				ran["shared"]++
				if bytes.Contains(out, []byte("%gnvcc_jg")) {
					ran["ways under guards"]++
				}
			}
		}
	}
	t.Log(ran)
	for _, what := range []string{"2x1x1", "4x1x1", "1x2x1", "shared", "ways under guards", "a rest",
		"dynamic", "calls", "calls for all turns", "calls for each turn",
		"one such branch", "several branches on which blocks disagree"} {
		if ran[what] < rounds/8 {
			t.Errorf("%s: only %d kernels", what, ran[what])
		}
	}
}
