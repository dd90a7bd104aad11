package rewrite

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/early"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/sass"
)

// TestEarlyComputesTheSame runs random kernels before and after, in the interpreter: they store the
// same, and read what they read before. Their pointers are close together, so that loads often are
// of what was just stored; addresses change on the way, come from memory, from registers that are
// written again; stores are guarded, of a byte, of two; addresses wrap; memory says how often a
// loop goes round; barriers and volatile accesses stand in between.
// Without the test at run time most of them would store other things.
func TestEarlyComputesTheSame(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	moved, turned, both, needed, tried := 0, 0, 0, 0, 0
	for n := 0; n < 400; n++ {
		seed := rng.Int63()
		text := earlyKernel(rand.New(rand.NewSource(seed)))
		value := []string{"early=on", "early=2", "early=3", "early=5"}[n%4]
		out, refused, err := Options{}.apply(text, map[string]recipe.Recipe{"k": mustRecipe(t, value)})
		if err != nil {
			t.Fatal(err)
		}
		if why := refused["k"]; why != nil {
			if text := why.Error(); text != value+": "+early.ErrNone.Error() && text != value+": "+
				early.ErrNoTurns.Error() {
				t.Fatalf("%v\n%s", why, text)
			}
			continue
		}
		moved++
		if value != "early=on" {
			turned++
		}
		for try := range 4 {
			at := uint64(1 << 20)
			if try == 3 { // addresses wrap
				at = -uint64(4 * (40 + rng.Intn(40)))
			}
			params := map[string]uint64{"p": at, "q": at + uint64(4*rng.Intn(12<<try)),
				"n": 1 + uint64(rng.Intn(9))}
			k := tileKernel{block: [3]int{3, 1, 1}, grid: [3]int{1, 1, 1}}
			run := func(text []byte) tileRun {
				r, err := k.run(text, params)
				if err != nil {
					t.Fatalf("seed %d, %v: %v\n%s", seed, params, err, text)
				}
				return r
			}
			was, now := run(text), run(out)
			if !maps.Equal(was.stored, now.stored) {
				t.Fatalf("%s, seed %d, %v: it stores other things\n%s\nwas\n%s", value, seed, params, out, text)
			}
			if !slices.EqualFunc(was.read, now.read, maps.Equal) {
				t.Fatalf("%s, seed %d, %v: it reads other things\n%s\nwas\n%s", value, seed, params, out, text)
			}
			tried++
			// is the way as it was ever taken? then there is a mark
			marked := theWay.ReplaceAll(out, []byte("$1\n\tst.global.u32 [%rd0+16384], %r0;"))
			if !maps.Equal(was.stored, run(marked).stored) {
				both++
			}
			if !maps.Equal(was.stored, run(withoutTest.ReplaceAll(out, []byte("$1"))).stored) {
				needed++
			}
		}
	}
	t.Logf("%d kernels with loads that move, %d in several turns; of %d runs %d take the way as it was, "+
		"%d would store other things if they did not", moved, turned, tried, both, needed)
	if moved < 150 || turned < 60 || both < tried/8 || both > tried*7/8 || needed < 20 {
		t.Error("the kernels show too little")
	}
}

var (
	theWay      = regexp.MustCompile(`(\$gnvcc_early_\d+:)`)
	withoutTest = regexp.MustCompile(`(setp\.lt[^;]*;\n\t)@%gnvcc_ep\d+ bra \$gnvcc_early_\d+;`)
)

// earlyKernel makes up a kernel with a loop whose body loads and stores.
func earlyKernel(rng *rand.Rand) []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, "\t"+format+"\n", args...) }
	b.WriteString(".version 8.0\n.target sm_80\n.address_size 64\n" +
		".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n)\n{\n")
	line(".reg .pred %%p<4>;")
	line(".reg .b32 %%r<40>;")
	line(".reg .b64 %%rd<12>;")
	line(".reg .pred %%g;")
	line(".shared .align 4 .u32 s[4];")
	line("ld.param.u64 %%rd0, [p];")
	line("ld.param.u64 %%rd1, [q];")
	line("ld.param.u32 %%r0, [n];")
	line("mov.u32 %%r1, %%tid.x;")
	line("mul.wide.u32 %%rd2, %%r1, 32;")
	for i := 3; i < 12; i++ {
		line("add.s64 %%rd%d, %%rd%d, %d;", i, rng.Intn(2), 4*rng.Intn(16))
		if rng.Intn(2) == 0 {
			line("add.s64 %%rd%d, %%rd%d, %%rd2;", i, i)
		}
	}
	for i := 2; i < 40; i++ {
		line("mov.u32 %%r%d, %d;", i, rng.Intn(1000))
	}
	line("setp.lt.u32 %%g, %%r1, 2;")
	b.WriteString("LOOP:\n")
	kinds := 12 + rng.Intn(3)
	if kinds == 13 {
		kinds = 11
	}
	for range 6 + rng.Intn(20) {
		earlyStatement(rng, kinds, line)
	}
	line("add.s32 %%r0, %%r0, -1;")
	if kinds < 14 && rng.Intn(4) == 0 { // how often it goes round, memory says: no barriers beside
		line("and.b32 %%r3, %%r%d, 1;", 2+rng.Intn(38))
		line("sub.s32 %%r0, %%r0, %%r3;")
	}
	if rng.Intn(2) == 0 {
		line("setp.gt.s32 %%p0, %%r0, 0;")
		line("@%%p0 bra LOOP;")
	} else {
		line("setp.le.s32 %%p0, %%r0, 0;")
		line("@!%%p0 bra LOOP;")
	}
	for i := 2; i < 40; i++ { // all that was computed shows
		line("st.global.u32 [%%rd0+%d], %%r%d;", 4096+4*i, i)
	}
	line("ret;")
	b.WriteString("}\n")
	return b.Bytes()
}

// earlyStatement makes up a statement of the loop's, or some.
func earlyStatement(rng *rand.Rand, kinds int, line func(format string, args ...any)) {
	wide := func() int { return 3 + rng.Intn(9) }
	narrow := func() int { return 2 + rng.Intn(38) }
	offset := func() int { return 4 * (rng.Intn(9) - 4) }
	guard := func() string { return []string{"", "", "", "@%g ", "@!%g "}[rng.Intn(5)] }
	switch rng.Intn(kinds) {
	case 0, 1, 2, 3:
		line("ld.global.u32 %%r%d, [%%rd%d+%d];", narrow(), wide(), offset())
	case 4, 5, 6:
		line("%sst.global.u32 [%%rd%d+%d], %%r%d;", guard(), wide(), offset(), narrow())
	case 7:
		if rng.Intn(3) == 0 {
			line("ld.global.nc.u32 %%r%d, [%%rd%d+%d];", narrow(), wide(), offset())
		}
		line("ld.global.v2.u16 {%%r%d, %%r%d}, [%%rd%d+%d];", narrow(), narrow(), wide(), offset())
	case 8:
		line("st.global.u8 [%%rd%d+%d], %%r%d;", wide(), offset()+rng.Intn(4), narrow())
	case 9:
		line("%sadd.s32 %%r%d, %%r%d, %%r%d;", guard(), narrow(), narrow(), narrow())
	case 10:
		line("%sadd.s64 %%rd%d, %%rd%d, %d;", guard(), wide(), wide(), 4*(rng.Intn(5)-2))
	case 11: // an address from memory
		r, w := narrow(), wide()
		line("and.b32 %%r%d, %%r%d, 12;", r, narrow())
		line("cvt.u64.u32 %%rd%d, %%r%d;", w, r)
		line("add.s64 %%rd%d, %%rd%d, %%rd%d;", w, w, rng.Intn(2))
	case 12:
		line("mov.u64 %%rd%d, %%rd%d;", wide(), wide())
	case 13:
		line([]string{"bar.sync 0;", "ld.volatile.global.u32 %%r9, [%%rd4];",
			"st.volatile.global.u32 [%%rd5], %%r7;", "setp.lt.u32 %%p1, %%r5, %%r6;",
			"selp.b64 %%rd7, %%rd8, %%rd9, %%g;"}[rng.Intn(5)])
	}
}

// TestEarlyOrder looks at what each ptxas makes of a loop that stores in each turn: by itself it
// never loads in front of the first store what stands behind it, under the lever it does.
func TestEarlyOrder(t *testing.T) {
	g := readGolden(t, filepath.Join("testdata", "early.txtar"))
	g.in = bytes.ReplaceAll(g.in, []byte(".target sm_90"), []byte(".target sm_80"))
	text, err := g.alone(t, nil, "turns", g.rounds[0]["turns"])
	if err != nil {
		t.Fatal(err)
	}
	for _, kit := range ptxtest.Toolkits(t) {
		for _, arch := range []string{"-arch=sm_80", "-arch=sm_90"} {
			plain, lever := mostLoads(t, kit, g.in, arch), mostLoads(t, kit, text, arch)
			if plain != 1 || lever < 3 {
				t.Errorf("ptxas %s %s: %d loads in front of a store without the lever, %d with it",
					kit.Version, arch, plain, lever)
			}
		}
	}
}

// mostLoads is the largest number of loads from global memory with no store between them, behind
// the first store or branch of the kernel turns.
func mostLoads(t *testing.T, kit ptxtest.Toolkit, text []byte, arch string) int {
	t.Helper()
	cubin, err := kit.Assemble(t, text, arch)
	if err != nil {
		t.Fatal(err)
	}
	functions, err := sass.Read(cubin)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, f := range functions {
		if f.Name != "turns" {
			continue
		}
		now, begun := 0, false
		for i := range f.Insts {
			switch name := f.Insts[i].Name(); {
			case strings.HasPrefix(name, "LDG"):
				now++
				if begun {
					most = max(most, now)
				}
			case strings.HasPrefix(name, "STG"), strings.HasPrefix(name, "BRA"):
				now, begun = 0, true
			}
		}
	}
	return most
}

// TestEarlyCount: what is counted is what moves.
func TestEarlyCount(t *testing.T) {
	g := readGolden(t, filepath.Join("testdata", "early.txtar"))
	m, err := ptx.Parse(g.in)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"turns": 2, "moved": 3, "alone": 1,
		"none": 0, "once": 1} {
		if got, turns := early.Loads(m.Entry(name), m.AddressSize); got != want || turns != (name == "turns") {
			t.Errorf("%s: %d loads, want %d; in several turns: %v", name, got, want, turns)
		}
	}
	if n, _ := early.Loads(m.Entry("turns"), 32); n != 0 {
		t.Errorf("with addresses of 32 bits: %d", n)
	}
}
