package rewrite

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"regexp"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/repeat"
)

// repeatKernel makes up a kernel with one or two loops that are counted in some way: by all types
// and comparisons, with starts and ends near where numbers wrap, tests at the top, in the middle
// and at the end, other ways out, and steps that do not divide the distance. Each turn stores
// what it counts.
func repeatKernel(rng *rand.Rand) (text []byte, values map[string]uint64) {
	k := &repeatMaker{rng: rng, values: map[string]uint64{"p": 1 << 20}, reg: 1,
		limit: 20 + rng.Intn(30)}
	k.b.WriteString(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(" +
		".param .u64 p, .param .u64 from, .param .u64 to, " +
		".param .u64 from2, .param .u64 to2, .param .u64 by)\n{\n")
	k.line(".reg .pred %%p<20>;")
	k.line(".reg .b32 %%r<40>;")
	k.line(".reg .b64 %%rd<40>;")
	k.line("ld.param.u64 %%rd0, [p];")
	k.line("mov.u32 %%r0, 0;")
	k.loop(0)
	if rng.Intn(3) == 0 {
		k.loop(0)
	}
	k.line("st.global.u32 [%%rd0+8192], %%r0;")
	k.line("ret;")
	k.b.WriteString("}\n")
	return k.b.Bytes(), k.values
}

// A repeatMaker writes such a kernel.
type repeatMaker struct {
	rng                     *rand.Rand
	b                       bytes.Buffer
	values                  map[string]uint64 // of the arguments
	label, reg, pred, limit int
}

func (k *repeatMaker) line(format string, args ...any) {
	fmt.Fprintf(&k.b, "\t"+format+"\n", args...)
}

// log stores a value and counts it; who has stored enough leaves.
func (k *repeatMaker) log(value, bits string, out int) {
	k.line("mul.wide.u32 %%rd1, %%r0, 8;")
	k.line("add.s64 %%rd1, %%rd0, %%rd1;")
	k.line("st.global.u%s [%%rd1], %s;", bits, value)
	k.line("add.u32 %%r0, %%r0, 1;")
	k.line("setp.gt.u32 %%p0, %%r0, %d;", k.limit)
	k.line("@%%p0 bra OUT%d;", out)
}

// A repeatLoop is how a loop counts.
type repeatLoop struct {
	*repeatMaker
	n, step                                  int
	bits, kind, x, end, next, p, to, how, by string
	counted                                  string // what is compared
	again                                    bool   // the end is loaded in each turn
}

// begin chooses that, and sets the loop's values.
func (k *repeatMaker) begin(depth int) *repeatLoop {
	rng := k.rng
	l := &repeatLoop{repeatMaker: k, n: k.label, bits: anyOf(rng, "32", "64"), again: rng.Intn(4) == 0}
	k.label++
	k.reg += 4
	k.pred++
	l.kind, l.p = anyOf(rng, "s", "u")+l.bits, fmt.Sprintf("%%p%d", k.pred)
	file := "%r"
	if l.bits == "64" {
		file = "%rd"
	}
	l.x, l.end, l.next = fmt.Sprint(file, k.reg), fmt.Sprint(file, k.reg+1), fmt.Sprint(file, k.reg+2)
	from := "from"
	if l.to = "to"; depth > 0 {
		from, l.to = "from2", "to2"
	}
	l.step = anyOf(rng, 1, 1, -1, -1, 2, 3, -4, 7, 100, -1<<19)
	l.how = anyOf(rng, "lt", "le", "gt", "ge", "ne", "ne")
	if l.how != "ne" && (l.step > 0) == (l.how == "gt" || l.how == "ge") && rng.Intn(8) > 0 {
		l.step = -l.step
	}
	if l.bits == "32" && rng.Intn(3) == 0 {
		l.by = fmt.Sprintf("%%r%d", k.reg+3)
		if known, ok := k.values["by"]; ok {
			l.step = int(int32(known))
		} else if rng.Intn(6) == 0 {
			l.step = anyOf(rng, 0, 1<<30, 3<<29)
		}
		k.values["by"] = uint64(l.step)
		k.line("ld.param.u32 %s, [by];", l.by)
	}
	edge := anyOf[uint64](rng, 0, 1<<31, 1<<32, 1<<63, 1000, uint64(rng.Int63()))
	turns := rng.Intn(14) - 2
	k.values[from] = edge - uint64(rng.Intn(5)*rng.Intn(200))
	k.values[l.to] = k.values[from] + uint64(l.step*turns) + uint64(rng.Intn(3)/2*rng.Intn(9))
	k.line("ld.param.u%s %s, [%s];", l.bits, l.x, from)
	k.line("ld.param.u%s %s, [%s];", l.bits, l.end, l.to)
	l.counted = l.x
	return l
}

var (
	opposite = map[string]string{"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq",
		"eq": "ne"}
	mirrored = map[string]string{"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ne": "ne",
		"eq": "eq"}
)

// test leaves the loop, or goes back where a label says so.
func (l *repeatLoop) test(back string) {
	if l.again {
		l.line("ld.param.u%s %s, [%s];", l.bits, l.end, l.to)
	}
	y, z, word, p := l.counted, l.end, l.how, l.p
	out := l.rng.Intn(2) == 0 || back == ""
	if out {
		word = opposite[word]
	}
	if l.rng.Intn(3) == 0 {
		y, z, word = z, y, mirrored[word]
	}
	if l.rng.Intn(3) == 0 {
		word, p = opposite[word], "!"+p
	}
	l.line("setp.%s.%s %s, %s, %s;", word, l.kind, l.p, y, z)
	switch {
	case out && back != "":
		l.line("@%s bra OUT%d;", p, l.n)
		l.line("bra.uni %s;", back)
	case out:
		l.line("@%s bra OUT%d;", p, l.n)
	default:
		l.line("@%s bra %s;", p, back)
	}
}

// add counts.
func (l *repeatLoop) add() {
	bits, x, next, way := l.bits, l.x, l.next, l.rng.Intn(4)
	switch {
	case l.by != "" && way == 0:
		l.line("add.s32 %s, %s, %s;", x, l.by, x)
	case l.by != "" && way == 1:
		l.line("cvt.u64.u32 %%rd2, %s;", x)
		l.line("cvt.u32.u64 %s, %%rd2;", next)
		l.line("add.u32 %s, %s, %s;", x, next, l.by)
	case l.by != "":
		l.line("add.s32 %s, %s, %s;", next, x, l.by)
		l.line("mov.u32 %s, %s;", x, next)
	case way == 0:
		l.line("add.s%s %s, %s, %d;", bits, next, x, l.step)
		l.line("mov.u%s %s, %s;", bits, x, next)
	case way == 1:
		l.line("sub.s%s %s, %s, %d;", bits, x, x, -l.step)
	case way == 2:
		l.line("mov.b%s %s, %s;", bits, next, x)
		l.line("add.s%s %s, %d, %s;", bits, x, l.step, next)
	default:
		l.line("add.s%s %s, %s, %d;", bits, x, x, l.step)
	}
	if l.by == "" && (way == 0 || way == 2) && l.rng.Intn(2) == 0 {
		l.counted = next
	}
}

func (k *repeatMaker) loop(depth int) {
	l, rng := k.begin(depth), k.rng
	n, where := l.n, rng.Intn(3)
	fmt.Fprintf(&k.b, "IN%d:\n", n)
	if where == 0 { // at the top
		l.test("")
	}
	early := rng.Intn(4) == 0
	if early {
		l.add()
	}
	k.log(l.x, l.bits, n)
	if depth < 1 && rng.Intn(3) == 0 {
		k.loop(depth + 1)
	}
	if rng.Intn(4) == 0 {
		k.line("and.b32 %%r2, %%r0, 3;")
		k.line("setp.eq.s32 %%p18, %%r2, 0;")
		k.line("@%%p18 bra SKIP%d;", n)
		k.log("%r0", "32", n)
		fmt.Fprintf(&k.b, "SKIP%d:\n", n)
	}
	if where == 1 { // in the middle
		l.test("")
		k.log(l.x, l.bits, n)
	}
	if !early {
		l.add()
	}
	if where == 2 {
		l.test(fmt.Sprintf("IN%d", n))
	} else {
		k.line("bra.uni IN%d;", n)
	}
	fmt.Fprintf(&k.b, "OUT%d:\n", n)
	if rng.Intn(2) == 0 {
		k.line("st.global.u%s [%%rd0+%d], %s;", l.bits, 4096+8*n, l.x)
	}
}

var theTest = regexp.MustCompile(`(@!%gnvcc_n\d+_p\d bra [^;]*;)`)

// TestRepeatComputesTheSame runs random loops before and after, in the interpreter.
func TestRepeatComputesTheSame(t *testing.T) {
	rng := rand.New(rand.NewSource(5))
	done, counted, rows, needed := 0, 0, 0, 0
	for range 300 {
		seed := rng.Int63()
		one := rand.New(rand.NewSource(seed))
		text, params := repeatKernel(one)
		m, err := ptx.Parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		loops, err := repeat.Loops(m, "k")
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		r := recipe.Recipe{}
		for _, l := range loops {
			if one.Intn(3) > 0 || len(loops) == 1 {
				r = r.With(recipe.Term{Lever: "repeat", Site: fmt.Sprint(l.Number),
					Value: fmt.Sprint(2 + one.Intn(5))})
			}
			if l.Counted {
				counted++
			}
		}
		out, refused, err := Options{}.apply(text, map[string]recipe.Recipe{"k": r})
		if err != nil || refused["k"] != nil {
			t.Fatalf("seed %d, %s: %v %v\n%s", seed, r, err, refused["k"], text)
		}
		k := tileKernel{block: [3]int{1, 1, 1}, grid: [3]int{1, 1, 1}}
		run := func(text []byte) map[uint64]byte {
			got, err := k.run(text, params)
			if err != nil {
				t.Fatalf("seed %d, %v: %v\n%s", seed, params, err, text)
			}
			return got.stored
		}
		was := run(text)
		if !maps.Equal(was, run(out)) {
			t.Fatalf("seed %d, %s, %v: it stores other things\n%s\nwas\n%s", seed, r, params, out, text)
		}
		done++
		if bytes.Contains(out, []byte("_turns:")) {
			// are there turns in a row, and would more of them be wrong?
			if !maps.Equal(was, run(theTest.ReplaceAll(out,
				[]byte("$1\n\tst.global.u32 [%rd0+16384], %r0;")))) {
				rows++
			}
			if !maps.Equal(was, run(theTest.ReplaceAll(out, nil))) {
				needed++
			}
		}
	}
	t.Logf("%d kernels, %d loops counted, in %d turns in a row, %d need the test", done, counted,
		rows, needed)
	if counted < done/2 || rows < done/5 || needed < done/8 {
		t.Error("the kernels show too little")
	}
}

// repeatExchange is a loop in which threads hand values on.
const repeatExchange = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) {
	.shared .align 4 .b8 near[128];
	.reg .pred %p<9>;
	.reg .b32 %r<20>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd0, [p];
	ld.param.u32 %r9, [n];
	mov.u32 %r1, %tid.x;
	mov.u32 %r3, near;
	shl.b32 %r4, %r1, 2;
	add.s32 %r5, %r3, %r4;
	xor.b32 %r6, %r4, 12;
	add.s32 %r6, %r3, %r6;
	setp.lt.u32 %p2, %r1, 4;
	mov.u32 %r7, %r1;
	FROM
LOOP:
	st.shared.u32 [%r5], %r7;
	BARRIER
	ld.shared.u32 %r8, [%r6];
	mad.lo.u32 %r7, %r7, 3, %r8;
	bar.sync 0;
	add.s32 %r2, %r2, 1;
	setp.lt.s32 %p1, %r2, %r10;
	@%p1 bra LOOP;
	mul.wide.u32 %rd1, %r1, 4;
	add.s64 %rd1, %rd0, %rd1;
	st.global.u32 [%rd1], %r7;
	ret;
}
`

// TestRepeatBarriers: a loop with barriers is repeated where all threads have as many turns.
func TestRepeatBarriers(t *testing.T) {
	const bound = "add.s32 %r10, %r9, 1;"
	for _, c := range []struct {
		from, barrier string
		taken         bool
	}{
		{"mov.u32 %r2, 0;" + bound, "bar.sync 0;", true},
		{"mov.u32 %r11, %ctaid.x; shl.b32 %r2, %r11, 1;" + bound, "bar.sync 0;", true},
		{"mov.u32 %r2, 0; mov.u32 %r10, %ntid.x;", "bar.sync 0;", true},
		{"mov.u32 %r2, %r1;" + bound, "bar.sync 0;", false},
		{"mov.u32 %r2, 0; add.s32 %r10, %r9, %r1;", "bar.sync 0;", false},
		{"mov.u32 %r2, 0; ld.global.u32 %r10, [%rd0];", "bar.sync 0;", false},
		{"mov.u32 %r2, 0; @%p2 mov.u32 %r2, 1;" + bound, "bar.sync 0;", false},
		{"mov.u32 %r2, 0; selp.b32 %r10, %r9, 7, %p2;", "bar.sync 0;", false},
		{"mov.u32 %r2, 0;" + bound, "@%p2 bar.sync 1;", false},
		{"mov.u32 %r2, 0;" + bound, "@%p2 bra OVER; bar.sync 1; OVER:", false},
		{"mov.u32 %r2, 0;" + bound, "barrier.sync 0;", false},
		{"mov.u32 %r2, 0;" + bound, "shfl.sync.idx.b32 %r12, %r7, 0, 31, -1;", false},
	} {
		text := []byte(strings.NewReplacer("FROM", c.from, "BARRIER", c.barrier).Replace(repeatExchange))
		out, refused, err := Options{}.apply(text, map[string]recipe.Recipe{"k": mustRecipe(t, "repeat@1=4")})
		if err != nil || (refused["k"] == nil) != c.taken {
			t.Fatalf("%s %s: %v %v", c.from, c.barrier, err, refused)
		}
		for n := uint64(0); n < 11 && c.taken; n++ {
			k := tileKernel{block: [3]int{32, 1, 1}, grid: [3]int{3, 1, 1}}
			params := map[string]uint64{"p": 1 << 20, "n": n}
			was, err := k.run(text, params)
			now, failed := k.run(out, params)
			if err != nil || failed != nil || !maps.Equal(was.stored, now.stored) {
				t.Errorf("%s, %d: it stores other things (%v, %v)", c.from, n, err, failed)
			}
		}
	}
}
