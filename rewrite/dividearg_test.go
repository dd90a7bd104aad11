package rewrite

import (
	"encoding/binary"
	"fmt"
	"math"
	mathbits "math/bits"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/emulate"
)

// TestMultiplied: the quotient by one product and one correction, as divide has it, of 8 bits for
// all numbers, and of 32 and 64 for those around multiples of the divisor and at the ends.
func TestMultiplied(t *testing.T) {
	quotient := func(n, d uint64, w int) uint64 {
		last := cutTo(math.MaxUint64, w, false)
		m := last / d
		q, lo := mathbits.Mul64(n, m)
		if w < 64 {
			q = lo >> w
		}
		if n-q*d >= d {
			q++
		}
		return q
	}
	for d := uint64(1); d < 256; d++ {
		for n := range uint64(256) {
			if q := quotient(n, d, 8); q != n/d {
				t.Fatalf("%d/%d: %d", n, d, q)
			}
		}
	}
	rng := rand.New(rand.NewSource(3))
	for _, by := range divisionEdges(rng, 3000) {
		for _, w := range []int{32, 64} {
			d := cutTo(by, w, false)
			if d == 0 {
				continue
			}
			last := cutTo(math.MaxUint64, w, false)
			dividends := []uint64{0, 1, last, last - last%d, last - last%d - 1, last / 2, last/2 + 1}
			for range 40 {
				n := d * (rng.Uint64() >> rng.Intn(64))
				dividends = append(dividends, n-1, n, n+1, rng.Uint64())
			}
			for _, n := range dividends {
				n = cutTo(n, w, false)
				if q := quotient(n, d, w); q != n/d {
					t.Fatalf("%d bits, %d/%d: %d", w, n, d, q)
				}
			}
		}
	}
}

// Each thread divides one number a turn, in so many turns as there are blocks' lengths.
const divideKernel = `.visible .entry NAME(.param .u64 NAME_0, .param .TYPE NAME_1,
	.param .u32 NAME_2)
{
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<5>;
	.reg .bWIDTH %n<9>;
	ld.param.u64 %rd1, [NAME_0];
	ld.param.TYPE %n1, [NAME_1];
	ld.param.u32 %r5, [NAME_2];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r6, %nctaid.x;
	mad.lo.u32 %r1, %r2, %r3, %r1;
	mul.lo.u32 %r3, %r3, %r6;
	mul.wide.u32 %rd2, %r1, 8;
	add.s64 %rd1, %rd1, %rd2;
	mul.wide.u32 %rd3, %r3, 8;
	mov.u32 %r7, %nctaid.y;
	cvt.TYPE.u32 %n5, %r7;
	mul.lo.TYPE %n6, %n1, %n5;
	sub.TYPE %n7, %n6, 0;
	mov.u32 %r4, 0;
$L_NAME:
	ld.global.TYPE %n2, [%rd1];
	BODY
	st.global.TYPE [%rd1], %n2;
	add.s64 %rd1, %rd1, %rd3;
	add.s32 %r4, %r4, 1;
	setp.lt.u32 %p1, %r4, %r5;
	@%p1 bra $L_NAME;
	ret;
}
`

// divideForms are what a turn does, of which the first divides and does nothing else.
var divideForms = []string{
	"OP.TYPE %n2, %n2, %n1;",
	`and.bWIDTH %n3, %n2, 4;
	setp.ne.TYPE %p2, %n3, 0;
	@%p2 OP.TYPE %n2, %n2, %n1;
	@!%p2 OP.TYPE %n3, %n2, %n1;
	add.TYPE %n2, %n2, %n3;`,
	`div.TYPE %n3, %n2, %n1;
	rem.TYPE %n4, %n2, %n1;
	mul.lo.TYPE %n3, %n3, 1000003;
	xor.bWIDTH %n2, %n3, %n4;`,
	`and.bWIDTH %n3, %n2, 255;
	OP.TYPE %n3, %n3, %n7;
	OP.TYPE %n2, %n2, %n7;
	xor.bWIDTH %n2, %n2, %n3;`,
}

// dividers is a module of these kernels, for one kind of division.
func dividers(d division) string {
	letter, op := "u", "div"
	if d.signed {
		letter = "s"
	}
	if d.rem {
		op = "rem"
	}
	text := ".version 7.8\n.target sm_90\n.address_size 64\n"
	for form, body := range divideForms {
		text += strings.NewReplacer("NAME", fmt.Sprintf("k%d", form), "TYPE", letter+fmt.Sprint(d.w),
			"WIDTH", fmt.Sprint(d.w), "OP", op).Replace(strings.Replace(divideKernel, "BODY", body, 1))
	}
	return text
}

// TestDivide runs what ptxas makes of kernels that divide by an argument in a loop in the emulator:
// its own code and that under divide, alone and with levers beside it, for every kind of division.
// All must leave the same bits, by 0 too, and where it is known what is right.
func TestDivide(t *testing.T) {
	rng := rand.New(rand.NewSource(4))
	const threads, blocks, turns = 128, 2, 3
	edges := divisionEdges(rng, 64)
	minus := func(n uint64) uint64 { return -n }
	divisors := []uint64{0, 1, 2, 3, 7, 10, 64, 641, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32,
		1<<63 - 1, 1 << 63, 1<<63 + 1, minus(1), minus(2), minus(3), minus(7), minus(1 << 31),
		rng.Uint64(), rng.Uint64() >> 40}
	beside := []string{"divide=on", "divide=on repeat@1=2", "known{#2=3} divide=on",
		"coarsen=2x1x1 divide=on"}
	for _, kit := range ptxtest.Toolkits(t) {
		for kind := range 8 {
			sort, _ := divisionOf(kind, 3)
			text := dividers(sort)
			was, err := kit.Assemble(t, []byte(text), "-arch=sm_90")
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range beside {
				recipes, o := map[string]recipe.Recipe{}, Options{Coarse: map[string][3]int{}}
				grid := blocks
				for form := range divideForms {
					recipes[fmt.Sprintf("k%d", form)] = mustRecipe(t, r)
					if strings.HasPrefix(r, "coarsen") {
						grid, o.Coarse[fmt.Sprintf("k%d", form)] = blocks/2, [3]int{2, 1, 1}
					}
				}
				out, refused, err := o.apply([]byte(text), recipes)
				if err != nil || len(refused) > 0 {
					t.Fatal(r, err, refused)
				}
				now, err := kit.Assemble(t, out, "-arch=sm_90")
				if err != nil {
					t.Fatal(err)
				}
				for form := range divideForms {
					for _, by := range divisors {
						d := sort
						d.by = cutTo(by, d.w, d.signed)
						numbers := make([]uint64, threads*blocks*turns)
						for i := range numbers {
							numbers[i] = edges[rng.Intn(len(edges))]
							if rng.Intn(2) == 0 {
								numbers[i] = d.by*uint64(rng.Intn(1<<20)) + uint64(rng.Intn(3)) - 1
							}
						}
						name := fmt.Sprintf("k%d", form)
						a, _ := turning(t, was, name, d, numbers, blocks, threads, blocks*threads)
						b, _ := turning(t, now, name, d, numbers, grid, threads, blocks*threads)
						if !slices.Equal(a, b) {
							i := slices.IndexFunc(numbers, func(uint64) bool { return true })
							for a[i] == b[i] {
								i++
							}
							t.Fatalf("ptxas %s, %s, %+v, form %d, of %d: %d, and %d", kit.Version, r, d, form,
								numbers[i], b[i], a[i])
						}
						for i, n := range numbers {
							if form == 0 && d.by != 0 && a[i] != d.of(n) {
								t.Fatalf("ptxas %s, %+v of %d: %d", kit.Version, d, n, a[i])
							}
							if form == 0 && d.by == 0 && a[i] != cutTo(math.MaxUint64, d.w, false) {
								t.Fatalf("ptxas %s, %+v of %d: %d", kit.Version, d, n, a[i])
							}
						}
					}
				}
			}
		}
	}
}

// turning runs a kernel of these in the emulator.
func turning(t *testing.T, code []byte, name string, d division, numbers []uint64, blocks, threads,
	perTurn int) (out []uint64, steps int) {
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
	params = binary.LittleEndian.AppendUint64(params, d.by)[:8+d.w/8]
	params = binary.LittleEndian.AppendUint32(params, uint32(len(numbers)/perTurn))
	result, err := program.Run(memory, emulate.Launch{Grid: [3]int{blocks, 1, 1},
		Block: [3]int{threads, 1, 1}, Params: params})
	if err != nil {
		t.Fatalf("%+v: %v", d, err)
	}
	for i := range numbers {
		out = append(out, cutTo(binary.LittleEndian.Uint64(b.Bytes[8*i:]), d.w, false))
	}
	return out, result.Steps
}

// TestDivideCounts: with its entry, a loop of 103 turns takes fewer instructions of warps under
// divide, for every kind of division; and how many in a turn, and at entry.
func TestDivideCounts(t *testing.T) {
	kit := ptxtest.Toolkits(t)[0]
	for kind := range 8 {
		d, _ := divisionOf(kind, 7)
		text, recipes := dividers(d), map[string]recipe.Recipe{}
		for form := range divideForms {
			recipes[fmt.Sprintf("k%d", form)] = mustRecipe(t, "divide=on")
		}
		out, refused, err := Options{}.apply([]byte(text), recipes)
		if err != nil || len(refused) > 0 {
			t.Fatal(err, refused)
		}
		for _, form := range []int{0, 2} {
			var said []string
			var all []int
			for _, text := range [][]byte{[]byte(text), out} {
				code, err := kit.Assemble(t, text, "-arch=sm_90")
				if err != nil {
					t.Fatal(err)
				}
				name, numbers := fmt.Sprintf("k%d", form), make([]uint64, 32*103)
				_, few := turning(t, code, name, d, numbers[:32*3], 1, 32, 32)
				_, many := turning(t, code, name, d, numbers, 1, 32, 32)
				all = append(all, many)
				said = append(said, fmt.Sprintf("%d and %.1f a turn", few-3*(many-few)/100,
					float64(many-few)/100))
			}
			t.Logf("ptxas %s, %d bits, signed %v, remainder %v, form %d: %s; it was %s", kit.Version, d.w,
				d.signed, d.rem, form, said[1], said[0])
			if all[1] >= all[0] {
				t.Error("divide takes no fewer instructions")
			}
		}
	}
}
