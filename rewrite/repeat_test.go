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

// repeatKernel makes up a kernel with one or two loops that are counted in some way: by all types and
// comparisons, with starts and ends near where numbers wrap, tests at the top, in the middle and at
// the end, other ways out, and steps that do not divide the distance. Each turn stores what it counts.
func repeatKernel(rng *rand.Rand) (text []byte, values map[string]uint64) {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, "\t"+format+"\n", args...) }
	b.WriteString(".version 8.0\n.target sm_80\n.address_size 64\n" +
		".visible .entry k(.param .u64 p, .param .u64 from, .param .u64 to, .param .u64 from2, .param .u64 to2, .param .u64 by)\n{\n")
	line(".reg .pred %%p<20>;")
	line(".reg .b32 %%r<40>;")
	line(".reg .b64 %%rd<40>;")
	line("ld.param.u64 %%rd0, [p];")
	line("mov.u32 %%r0, 0;")
	values = map[string]uint64{"p": 1 << 20}
	label, reg, pred := 0, 1, 0
	limit := 20 + rng.Intn(30)
	// log stores a value and counts it; who has stored enough leaves
	log := func(value, bits string, out int) {
		line("mul.wide.u32 %%rd1, %%r0, 8;")
		line("add.s64 %%rd1, %%rd0, %%rd1;")
		line("st.global.u%s [%%rd1], %s;", bits, value)
		line("add.u32 %%r0, %%r0, 1;")
		line("setp.gt.u32 %%p0, %%r0, %d;", limit)
		line("@%%p0 bra OUT%d;", out)
	}
	var loop func(depth int)
	loop = func(depth int) {
		n := label
		label++
		bits := anyOf(rng, "32", "64")
		kind := anyOf(rng, "s", "u") + bits
		x, end, next := "%r", "%r", "%r"
		if bits == "64" {
			x, end, next = "%rd", "%rd", "%rd"
		}
		reg += 4
		x, end, next = fmt.Sprint(x, reg), fmt.Sprint(end, reg+1), fmt.Sprint(next, reg+2)
		pred++
		p := fmt.Sprintf("%%p%d", pred)
		from, to := "from", "to"
		if depth > 0 {
			from, to = "from2", "to2"
		}
		step := anyOf(rng, 1, 1, -1, -1, 2, 3, -4, 7, 100, -1<<19)
		how := anyOf(rng, "lt", "le", "gt", "ge", "ne", "ne")
		if how != "ne" && (step > 0) == (how == "gt" || how == "ge") && rng.Intn(8) > 0 {
			step = -step
		}
		by := ""
		if bits == "32" && rng.Intn(3) == 0 {
			by = fmt.Sprintf("%%r%d", reg+3)
			if known, ok := values["by"]; ok {
				step = int(int32(known))
			} else if rng.Intn(6) == 0 {
				step = anyOf(rng, 0, 1<<30, 3<<29)
			}
			values["by"] = uint64(step)
			line("ld.param.u32 %s, [by];", by)
		}
		edge := anyOf[uint64](rng, 0, 1<<31, 1<<32, 1<<63, 1000, uint64(rng.Int63()))
		turns := rng.Intn(14) - 2
		values[from] = edge - uint64(rng.Intn(5)*rng.Intn(200))
		values[to] = values[from] + uint64(step*turns) + uint64(rng.Intn(3)/2*rng.Intn(9))
		line("ld.param.u%s %s, [%s];", bits, x, from)
		line("ld.param.u%s %s, [%s];", bits, end, to)
		leaves := map[string]string{"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq"}[how]
		swap := map[string]string{"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ne": "ne", "eq": "eq"}
		counted := x
		again := rng.Intn(4) == 0
		test := func(back string) {
			if again {
				line("ld.param.u%s %s, [%s];", bits, end, to)
			}
			y, z, word := counted, end, how
			out := rng.Intn(2) == 0 || back == ""
			if out {
				word = leaves
			}
			if rng.Intn(3) == 0 {
				y, z, word = z, y, swap[word]
			}
			if rng.Intn(3) == 0 {
				line("setp.%s.%s %s, %s, %s;", map[string]string{"lt": "ge", "le": "gt", "gt": "le", "ge": "lt",
					"ne": "eq", "eq": "ne"}[word], kind, p, y, z)
				p = "!" + p
			} else {
				line("setp.%s.%s %s, %s, %s;", word, kind, p, y, z)
			}
			if out {
				line("@%s bra OUT%d;", p, n)
			} else {
				line("@%s bra %s;", p, back)
			}
			if out && back != "" {
				line("bra.uni %s;", back)
			}
			p = strings.TrimPrefix(p, "!")
		}
		add := func() {
			if by != "" {
				switch rng.Intn(3) {
				case 0:
					line("add.s32 %s, %s, %s;", x, by, x)
				case 1:
					line("cvt.u64.u32 %%rd2, %s;", x)
					line("cvt.u32.u64 %s, %%rd2;", next)
					line("add.u32 %s, %s, %s;", x, next, by)
				default:
					line("add.s32 %s, %s, %s;", next, x, by)
					line("mov.u32 %s, %s;", x, next)
				}
				return
			}
			switch rng.Intn(4) {
			case 0:
				line("add.s%s %s, %s, %d;", bits, next, x, step)
				if rng.Intn(2) == 0 {
					counted = next
				}
				line("mov.u%s %s, %s;", bits, x, next)
			case 1:
				line("sub.s%s %s, %s, %d;", bits, x, x, -step)
			case 2:
				line("mov.b%s %s, %s;", bits, next, x)
				line("add.s%s %s, %d, %s;", bits, x, step, next)
				if rng.Intn(2) == 0 {
					counted = next
				}
			default:
				line("add.s%s %s, %s, %d;", bits, x, x, step)
			}
		}
		fmt.Fprintf(&b, "IN%d:\n", n)
		where := rng.Intn(3)
		if where == 0 { // at the top
			test("")
		}
		if where == 1 && rng.Intn(2) == 0 {
			line("bra GO%d;", n)
			fmt.Fprintf(&b, "GO%d:\n", n)
		}
		early := rng.Intn(4) == 0
		if early {
			add()
		}
		log(x, bits, n)
		if depth < 1 && rng.Intn(3) == 0 {
			loop(depth + 1)
		}
		if rng.Intn(4) == 0 {
			line("and.b32 %%r2, %%r0, 3;")
			line("setp.eq.s32 %%p18, %%r2, 0;")
			line("@%%p18 bra SKIP%d;", n)
			log("%r0", "32", n)
			fmt.Fprintf(&b, "SKIP%d:\n", n)
		}
		if where == 1 { // in the middle
			test("")
			log(x, bits, n)
		}
		if !early {
			add()
		}
		if where == 2 {
			test(fmt.Sprintf("IN%d", n))
		} else {
			line("bra.uni IN%d;", n)
		}
		fmt.Fprintf(&b, "OUT%d:\n", n)
		if rng.Intn(2) == 0 {
			line("st.global.u%s [%%rd0+%d], %s;", bits, 4096+8*n, x)
		}
	}
	loop(0)
	if rng.Intn(3) == 0 {
		loop(0)
	}
	line("st.global.u32 [%%rd0+8192], %%r0;")
	line("ret;")
	b.WriteString("}\n")
	return b.Bytes(), values
}

var theTest = regexp.MustCompile(`(@!%gnvcc_n\d+_p\d bra [^;]*;)`)

// TestRepeatComputesTheSame runs random loops before and after, in the interpreter.
func TestRepeatComputesTheSame(t *testing.T) {
	rng := rand.New(rand.NewSource(5))
	done, counted, rows, needed := 0, 0, 0, 0
	for range 600 {
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
		out, refused, err := Apply(text, map[string]recipe.Recipe{"k": r})
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
			if !maps.Equal(was, run(theTest.ReplaceAll(out, []byte("$1\n\tst.global.u32 [%rd0+16384], %r0;")))) {
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
