package rewrite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	mathbits "math/bits"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/emulate"
)

// divisionEdges are divisors and dividends at which multipliers change, of either sign.
func divisionEdges(rng *rand.Rand, more int) (out []uint64) {
	for k := range 64 {
		for d := range uint64(4) {
			out = append(out, 1<<k-d, 1<<k+d, -(1<<k)-d, -(1<<k)+d)
		}
	}
	for _, d := range []uint64{5, 6, 7, 10, 12, 14, 28, 100, 641, 1000, 1e9 + 7, 6700417} {
		out = append(out, d, -d)
	}
	for range more {
		out = append(out, rng.Uint64()>>rng.Intn(64))
	}
	return out
}

// cutTo is a value as a type holds it, in 64 bits.
func cutTo(v uint64, w int, signed bool) uint64 {
	if signed {
		return uint64(int64(v) << (64 - w) >> (64 - w))
	}
	return v << (64 - w) >> (64 - w)
}

// A division is one kind of them, by one number.
type division struct {
	w           int
	signed, rem bool
	by          uint64
}

// divisionOf is the kind of a number below 8; trivial tells of 0, 1 and -1.
func divisionOf(kind int, by uint64) (d division, trivial bool) {
	d = division{w: 32 + kind&1*32, signed: kind&2 != 0, rem: kind&4 != 0}
	d.by = cutTo(by, d.w, d.signed)
	return d, d.by < 2 || d.signed && d.by == math.MaxUint64
}

// of is what it has to give.
func (d division) of(n uint64) uint64 {
	n = cutTo(n, d.w, d.signed)
	q, r := n/d.by, n%d.by
	if d.signed {
		q, r = uint64(int64(n)/int64(d.by)), uint64(int64(n)%int64(d.by))
	}
	if d.rem {
		q = r
	}
	return cutTo(q, d.w, false)
}

// interpret carries out what dividedBy writes.
func interpret(t *testing.T, lines []string, n uint64, w int) uint64 {
	regs := map[string]uint64{"n": cutTo(n, w, false)}
	for _, line := range lines {
		op, rest, _ := strings.Cut(strings.TrimSuffix(line, ";"), " ")
		words := strings.Split(op, ".")
		signed := words[len(words)-1][0] == 's'
		ops := strings.Split(rest, ", ")
		var in [2]uint64
		for i, o := range ops[1:] {
			if v, ok := regs[o]; ok {
				in[i] = v
			} else if v, err := strconv.ParseInt(o, 10, 64); err == nil {
				in[i] = uint64(v)
			} else if in[i], err = strconv.ParseUint(o, 10, 64); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		a, b := cutTo(in[0], w, signed), cutTo(in[1], w, signed)
		v := uint64(0)
		switch words[0] {
		case "add":
			v = a + b
		case "sub":
			v = a - b
		case "neg":
			v = -a
		case "and":
			v = a & b
		case "shr":
			if v = a >> in[1]; signed {
				v = uint64(int64(a) >> in[1])
			}
		case "mul":
			hi, lo := mathbits.Mul64(a, b)
			if signed {
				hi -= a*(b>>63) + b*(a>>63)
			}
			if v = lo; words[1] == "hi" {
				if v = hi; w == 32 {
					v = lo >> 32
				}
			}
		default:
			t.Fatal(line)
		}
		regs[ops[0]] = cutTo(v, w, false)
	}
	return regs["q"]
}

// TestDividedBy: the arithmetic alone, for dividends around multiples of the divisor and at the
// ends of the range. By 0, 1 and -1 nothing is written.
func TestDividedBy(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	edges := divisionEdges(rng, 0)
	for _, by := range divisionEdges(rng, 1500) {
		for kind := range 8 {
			d, trivial := divisionOf(kind, by)
			lines := dividedBy(int64(cutTo(by, d.w, true)), d.w, d.signed, d.rem, "q", "n")
			if trivial != (lines == nil) {
				t.Fatalf("%+v: %q", d, lines)
			}
			if trivial {
				continue
			}
			last := cutTo(math.MaxUint64, d.w, false)
			half := last >> 1
			dividends := []uint64{0, 1, last, last - last%d.by, last - last%d.by - 1, half, half + 1,
				half - half%d.by, half - half%d.by - 1}
			for range 12 {
				n := d.by * (rng.Uint64() >> rng.Intn(64))
				dividends = append(dividends, n-1, n, n+1, edges[rng.Intn(len(edges))])
			}
			for _, n := range dividends {
				if got, want := interpret(t, lines, n, d.w), d.of(n); got != want {
					t.Fatalf("%+v of %d: %d, want %d\n%q", d, n, got, want, lines)
				}
			}
		}
	}
}

const dividingKernel = `.visible .entry NAME(.param .u64 NAME_0, .param .TYPE NAME_1)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.reg .bWIDTH %n<4>;
	ld.param.u64 %rd1, [NAME_0];
	ld.param.TYPE %n1, [NAME_1];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 8;
	add.s64 %rd1, %rd1, %rd2;
	ld.global.TYPE %n2, [%rd1];
	OP.TYPE %n2, %n2, %n1;
	st.global.TYPE [%rd1], %n2;
	ret;
}
`

// dividing runs a kernel of these in the emulator, which divides some numbers.
func dividing(t *testing.T, code []byte, name string, d division, numbers []uint64) (
	out []uint64, result emulate.Result) {
	t.Helper()
	var data []byte
	for _, x := range numbers {
		data = binary.LittleEndian.AppendUint64(data, x)
	}
	memory := emulate.NewMemory()
	b := memory.Allocate("", data)
	program, err := emulate.Load(code, name, memory)
	if err != nil {
		t.Fatal(err)
	}
	params := binary.LittleEndian.AppendUint64(nil, b.Address)
	params = binary.LittleEndian.AppendUint64(params, d.by)
	if result, err = program.Run(memory, emulate.Launch{Grid: [3]int{1, 1, 1},
		Block: [3]int{len(numbers), 1, 1}, Params: params[:8+d.w/8]}); err != nil {
		t.Fatalf("%+v: %v", d, err)
	}
	for i := range numbers {
		out = append(out, cutTo(binary.LittleEndian.Uint64(b.Bytes[8*i:]), d.w, false))
	}
	return out, result
}

// TestKnownDivides runs what ptxas makes of divisions by an argument, before and behind known, in
// the emulator, and compares both with what is right. In the copy no reciprocal is left, and less
// than half of the instructions; by 1 it divides as before.
func TestKnownDivides(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	dividends := divisionEdges(rng, 64)
	text := ".version 7.8\n.target sm_90\n.address_size 64\n"
	all, recipes := map[string]division{}, map[string]recipe.Recipe{}
	minus := func(n uint64) uint64 { return -n }
	for _, by := range []uint64{1, 2, 3, 7, 10, 28, 64, 641, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 7,
		1<<32 - 1, 1<<63 - 1, 1 << 63, 1<<63 + 1, minus(2), minus(3), minus(64), minus(7), rng.Uint64(),
		rng.Uint64() >> 40} {
		for kind := range 8 {
			d, trivial := divisionOf(kind, by)
			if trivial && by != 1 {
				continue
			}
			name, letter, op, shown := fmt.Sprintf("k%d", len(all)), "u", "div", fmt.Sprint(d.by)
			if d.signed {
				letter, shown = "s", fmt.Sprint(int64(d.by))
			}
			if d.rem {
				op = "rem"
			}
			text += strings.NewReplacer("NAME", name, "TYPE", letter+fmt.Sprint(d.w), "WIDTH",
				fmt.Sprint(d.w), "OP", op).Replace(dividingKernel)
			all[name], recipes[name] = d, mustRecipe(t, "known{#1="+shown+"}")
		}
	}
	out, refused, err := Options{}.apply([]byte(text), recipes)
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	if n := bytes.Count(out, []byte("\tdiv.")) + bytes.Count(out, []byte("\trem.")); n != 8 {
		t.Fatalf("%d divisions are left, not the 8 by 1", n)
	}
	for _, kit := range ptxtest.Toolkits(t) {
		was, err := kit.Assemble(t, []byte(text), "-arch=sm_90")
		if err != nil {
			t.Fatal(err)
		}
		now, err := kit.Assemble(t, out, "-arch=sm_90")
		if err != nil {
			t.Fatal(err)
		}
		before, after := 0, 0
		for name, d := range all {
			for part := range slices.Chunk(dividends, 256) {
				a, ran := dividing(t, was, name, d, part)
				b, runs := dividing(t, now, name, d, part)
				before, after = before+ran.Steps, after+runs.Steps
				if runs.Approximate && d.by != 1 {
					t.Fatalf("ptxas %s, %+v: the copy has a reciprocal still", kit.Version, d)
				}
				for i, x := range part {
					if want := d.of(x); a[i] != want || b[i] != want {
						t.Fatalf("ptxas %s, %+v of %d: %d, and %d behind known; it is %d", kit.Version, d, x,
							a[i], b[i], want)
					}
				}
			}
		}
		t.Logf("ptxas %s: %d instructions of warps, were %d", kit.Version, after, before)
		if 2*after > before {
			t.Error("the copies are not half as long")
		}
	}
}
