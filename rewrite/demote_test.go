package rewrite

import (
	"fmt"
	"maps"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gnvcc/rewrite/demote"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
)

// A program is a random integer kernel with branches, loops, guarded instructions and scopes, that
// writes all its registers at its end.
type program struct {
	rng    *rand.Rand
	text   strings.Builder
	labels int
	r, rd  int
}

func randomKernel(rng *rand.Rand, directive string) string {
	p := &program{rng: rng, r: 4 + rng.Intn(20), rd: 1 + rng.Intn(6)}
	p.line(
		".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n%s\n{", directive)
	p.line(".reg .pred %%p<4>;\n.reg .b32 %%r<%d>, %%c<9>, %%a<2>;\n.reg .b64 %%rd<%d>, %%out<3>;",
		p.r, p.rd)
	p.line("ld.param.u64 %%out0, [p];\nld.param.u32 %%a0, [n];")
	p.line("mov.u32 %%a1, %%tid.x;")
	for i := 0; i < p.r; i++ {
		p.line("mad.lo.s32 %%r%d, %%a1, %d, %d;", i, 1+rng.Intn(99), rng.Intn(999))
	}
	for i := 0; i < p.rd; i++ {
		p.line("cvt.u64.u32 %%rd%d, %s;", i, p.reg())
	}
	for i := 0; i < 4; i++ {
		p.line("setp.lt.s32 %%p%d, %s, %d;", i, p.reg(), rng.Intn(9999))
	}
	p.part(3)
	p.line(
		"mov.u32 %%a1, %%tid.z;\nmov.u32 %%c0, %%ntid.y;\nmov.u32 %%c1, %%tid.y;\nmad.lo.s32 %%a1, %%a1, %%c0, %%c1;")
	p.line(
		"mov.u32 %%c0, %%ntid.x;\nmov.u32 %%c1, %%tid.x;\nmad.lo.s32 %%a1, %%a1, %%c0, %%c1;\nmul.lo.u32 %%a1, %%a1, 1024;")
	p.line("cvt.u64.u32 %%out1, %%a1;\nadd.s64 %%out0, %%out0, %%out1;")
	for i := 0; i < p.r; i++ {
		p.line("st.global.u32 [%%out0+%d], %%r%d;", 8*i, i)
	}
	for i := 0; i < p.rd; i++ {
		p.line("st.global.u64 [%%out0+%d], %%rd%d;", 8*(p.r+i), i)
	}
	p.line("ret;\n}")
	return p.text.String()
}

func (p *program) line(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }
func (p *program) reg() string                     { return fmt.Sprintf("%%r%d", p.rng.Intn(p.r)) }
func (p *program) wide() string {
	return fmt.Sprintf("%%rd%d", p.rng.Intn(p.rd))
}

// part writes some statements; depth bounds what nests.
func (p *program) part(depth int) {
	n := 2 + p.rng.Intn(8)
	if depth == 3 && p.rng.Intn(3) == 0 {
		n = 40
	}
	for ; n > 0; n-- {
		guard := ""
		if p.rng.Intn(4) == 0 {
			guard = fmt.Sprintf("@%s%%p%d ", []string{"", "!"}[p.rng.Intn(2)], p.rng.Intn(4))
		}
		switch p.rng.Intn(12) {
		case 0, 1, 2:
			p.line("%s%s.s32 %s, %s, %s;", guard, []string{"add", "sub", "mul.lo"}[p.rng.Intn(3)], p.reg(),
				p.reg(), p.reg())
		case 3:
			p.line("%smad.lo.s32 %s, %s, %s, %s;", guard, p.reg(), p.reg(), p.reg(), p.reg())
		case 4:
			p.line("%sadd.s64 %s, %s, %s;", guard, p.wide(), p.wide(), p.wide())
		case 5:
			p.line("%scvt.u32.u64 %s, %s;", guard, p.reg(), p.wide())
		case 6:
			p.line("%scvt.u64.u32 %s, %s;", guard, p.wide(), p.reg())
		case 7:
			p.line("setp.%s.s32 %%p%d, %s, %s;", []string{"lt", "ne"}[p.rng.Intn(2)], p.rng.Intn(4), p.reg(),
				p.reg())
		case 8:
			p.line("%sselp.b32 %s, %s, %s, %%p%d;", guard, p.reg(), p.reg(), p.reg(), p.rng.Intn(4))
		case 9:
			if depth > 0 { // a part that is not always done
				p.labels++
				end := p.labels
				p.line("@%%p%d bra L%d;", p.rng.Intn(4), end)
				p.part(depth - 1)
				p.line("L%d:", end)
			}
		case 10:
			if depth > 0 { // a loop
				p.labels++
				head, counter := p.labels, 2+depth
				p.line("mov.u32 %%c%d, 0;\nL%d:", counter, head)
				p.part(depth - 1)
				p.line("add.s32 %%c%d, %%c%d, 1;\nsetp.ne.s32 %%p3, %%c%d, %d;\n@%%p3 bra L%d;", counter,
					counter, counter, 1+p.rng.Intn(3), head)
			}
		case 11: // as inline assembly does
			p.line("{ .reg .b32 t; xor.b32 t, %s, %s; %sadd.s32 %s, t, %s; }", p.reg(), p.reg(), guard,
				p.reg(), p.reg())
		}
	}
}

// demoteCounts says what demoteOne has seen.
type demoteCounts struct{ changed, loads, stores, dropped int }

// TestDemotedComputeTheSame runs random kernels before and after.
func TestDemotedComputeTheSame(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	var c demoteCounts
	for range 400 {
		demoteOne(t, rng, &c)
	}
	t.Logf("%d kernels, %d loads and %d stores done", c.changed, c.loads, c.stores)
	if c.changed < 300 || c.loads < 10000 || c.stores < 5000 || c.dropped == 0 {
		t.Errorf("only %d kernels were changed, with %d loads and %d stores done", c.changed, c.loads,
			c.stores)
	}
}

// demoteOne demotes registers of a random kernel, and runs it before and after.
func demoteOne(t *testing.T, rng *rand.Rand, c *demoteCounts) {
	t.Helper()
	block := [3]int{1 + rng.Intn(5), 1 + rng.Intn(3), 1 + rng.Intn(2)}
	directive, options := "", Options{Dynamic: map[string]int{"k": 0}}
	switch rng.Intn(3) {
	case 0:
		directive = fmt.Sprintf(".maxntid %d", 32+rng.Intn(64))
	case 1:
		directive = fmt.Sprintf(".reqntid %d, %d, %d", block[0], block[1], block[2])
	case 2:
		options.Blocks = map[string][3]int{"k": block}
	}
	text := []byte(randomKernel(rng, directive))
	r := mustRecipe(t, fmt.Sprintf("demote=%d:%s", 1+rng.Intn(40), demote.Strategies[rng.Intn(3)]))
	out, refused, err := options.apply(text, map[string]recipe.Recipe{"k": r})
	if err != nil {
		t.Fatal(err)
	}
	if reason := refused["k"]; reason != nil {
		if !strings.Contains(reason.Error(), "no value that is live") {
			t.Fatalf("%s: %v\n%s", r, reason, text)
		}
		return
	}
	c.changed++
	run := func(text []byte) *tileMachine {
		m, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		x, err := newTileMachine(m.Entries()[0], block, 0)
		if err != nil {
			t.Fatal(err)
		}
		x.params, x.strays, x.slots = map[string]uint64{"p": 1 << 20, "n": 5}, true, true
		err = x.run([3]int{1, 1, 1}, func(map[uint64]uint16) {})
		if err != nil {
			t.Fatalf("%s, %s: %v\n%s", r, directive, err, text)
		}
		return x
	}
	before, after := run(text), run(out)
	if !maps.Equal(before.global, after.global) {
		t.Fatalf("%s computes other things:\n%s\nwas\n%s", r, out, text)
	}
	c.loads, c.stores = c.loads+after.fromTile, c.stores+after.toNear
	if strings.Count(string(out), "st.volatile") < strings.Count(string(out), "ld.volatile") {
		c.dropped++
	}
}

// TestDemotedTakeFewerRegisters asks every ptxas that is here: a straight line with many values,
// where what is stored could be handed on to the load, and a loop that most of them only live
// through.
func TestDemotedTakeFewerRegisters(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	var b strings.Builder
	b.WriteString(".version 7.8\n.target sm_80\n.address_size 64\n")
	for _, name := range []string{"line", "loop"} {
		const values = 48
		fmt.Fprintf(&b,
			".visible .entry %s(.param .u64 p, .param .u32 n)\n{\n.reg .f32 %%f<%d>;\n.reg .b64 %%rd<9>;\n.reg .b32 %%r<9>;\n.reg .pred %%p<2>;\n", name, values+3)
		b.WriteString(
			"ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\n")
		for i := range values {
			fmt.Fprintf(&b, "ld.global.f32 %%f%d, [%%rd3+%d];\n", i, 8192*i)
		}
		fmt.Fprintf(&b, "mov.f32 %%f%d, 0f3F800000;\n", values)
		for i := range values { // all are needed here, one after the other
			fmt.Fprintf(&b, "fma.rn.f32 %%f%d, %%f%d, %%f%d, %%f0;\n", values, values, i)
		}
		if name == "loop" {
			fmt.Fprintf(&b,
				"L:\nadd.s64 %%rd3, %%rd3, 4;\nld.global.f32 %%f%d, [%%rd3];\nfma.rn.f32 %%f%d, %%f%d, %%f%d, %%f0;\nadd.s32 %%r1, %%r1, -1;\nsetp.ne.s32 %%p1, %%r1, 0;\n@%%p1 bra L;\n", values+1, values, values, values+1)
		}
		for i := range values { // and once more
			fmt.Fprintf(&b, "fma.rn.f32 %%f%d, %%f%d, %%f%d, %%f1;\nst.global.f32 [%%rd3+%d], %%f%d;\n",
				values, values, i, 8192*i, values)
		}
		b.WriteString("ret;\n}\n")
	}
	text := []byte(b.String())
	const words = 24
	block := map[string][3]int{"line": {128, 1, 1}, "loop": {128, 1, 1}}
	for k, kit := range kits {
		before := registersOf(t, kit, text)
		for _, strategy := range demote.Strategies {
			if strategy != "loops" && k < len(kits)-1 {
				continue
			}
			r := mustRecipe(t, fmt.Sprintf("demote=%d:%s", words, strategy))
			out, refused, err := Options{Blocks: block, Dynamic: map[string]int{"line": 0, "loop": 0}}.apply(
				text, map[string]recipe.Recipe{"line": r, "loop": r})
			if err != nil || len(refused) > 0 {
				t.Fatal(refused, err)
			}
			after := registersOf(t, kit, out)
			for name := range block {
				if after[name] > before[name]-words*2/3 {
					t.Errorf("ptxas %s, %s: %d registers, %d with %s", kit.Version, name, before[name],
						after[name], r)
				}
			}
			// what the pass says of volatile; 11.8 and 12.4 forward less
			if k == len(kits)-1 && strategy == "loops" {
				plain := registersOf(t, kit, []byte(strings.ReplaceAll(string(out), ".volatile", "")))
				if kit.Version >= "13" && plain["line"] < after["line"]+words/2 {
					t.Errorf("ptxas %s: %d registers without volatile, %d with it: it is not needed any more",
						kit.Version, plain["line"], after["line"])
				}
			}
		}
	}
}

// registersOf reads what ptxas -v says, by kernel.
func registersOf(t *testing.T, kit ptxtest.Toolkit, text []byte) map[string]int {
	t.Helper()
	in := filepath.Join(t.TempDir(), "in.ptx")
	if err := os.WriteFile(in, text, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(kit.Ptxas(), "-v", "-arch=sm_80", "-o", in+".cubin", in).CombinedOutput()
	if err != nil {
		t.Fatalf("ptxas %s: %v\n%s", kit.Version, err, said)
	}
	out := make(map[string]int)
	for _, m := range regexp.MustCompile(
		`(?s)entry function '(\w+)'.*?Used (\d+) registers`).FindAllStringSubmatch(string(said), -1) {
		out[m[1]], _ = strconv.Atoi(m[2])
	}
	if len(out) == 0 {
		t.Fatalf("ptxas %s -v names no kernel:\n%s", kit.Version, said)
	}
	return out
}

// noDynamic says of kernels that they are launched without dynamic shared memory.
func noDynamic(recipes map[string]recipe.Recipe) map[string]int {
	out := make(map[string]int, len(recipes))
	for name := range recipes {
		out[name] = 0
	}
	return out
}
