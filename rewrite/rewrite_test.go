package rewrite

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

func mustRecipe(t *testing.T, text string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func FuzzRecipe(f *testing.F) {
	for _, s := range []string{"",
		"spec{host(block)=32x1x1,host(dynamic)=0|throttle=3} spec{host(dynamic)=}", "maxnreg=56 hint@ld3=cs",
		"spec{a=1} spec{b=2}", "x={", "a=b}c", "a{}{}", "spec{#1=64} spec{#1=1024|maxnreg=96 unroll=4}",
		"spec{|}", "spec{#1=1|spec{#1=2}}",
		"spec{host(block)=32x1x1,host(dynamic)=0|throttle=3} spec{#1=1}",
		"hint@ld=cs spec{#1=3,host(dynamic)=64} throttle=2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := recipe.Parse(text)
		if err != nil {
			return
		}
		again, err := recipe.Parse(r.String())
		if err != nil || again.String() != r.String() {
			t.Fatalf("%q prints as %q, which reads as %q, %v", text, r, again, err)
		}
		ExactnessOf(r)
		if Check(r) != nil {
			return
		}
		entries, err := r.Entries()
		if err != nil {
			t.Fatalf("%q passes the check: %v", text, err)
		}
		for _, e := range entries {
			guards, err := e.Guards()
			if err != nil || len(guards) != 1 {
				t.Fatalf("%q passes the check: %q has %d guards, %v", text, e, len(guards), err)
			}
			if _, ok := guards[0].Dynamic(); Throttle(e) > 0 && !ok {
				t.Fatalf("%q passes the check, and %q is throttled without a condition", text, e)
			}
		}
		if len(entries) > 1 {
			if joined, err := recipe.Join(entries).Entries(); err != nil || len(joined) != len(entries) {
				t.Fatalf("%q has %d entries; joined, %d, %v", text, len(entries), len(joined), err)
			} else {
				for i := range joined {
					if joined[i].String() != entries[i].String() {
						t.Fatalf("%q: entry %q came back as %q", text, entries[i], joined[i])
					}
				}
			}
		}
	})
}

func TestExactnessAndStages(t *testing.T) {
	for _, c := range []struct {
		recipe      string
		exact       Exactness
		source, ptx string
	}{
		{"", ByConstruction, "", ""},
		{"maxnreg=56 hint@ld=cs hint@st=cs demote=spill", ByConstruction, "", "demote=spill hint@ld=cs hint@st=cs maxnreg=56"},
		{"maxnreg=56 bypass=4", Checked, "", "bypass=4 maxnreg=56"},
		{"unroll=4 unroll@1=2 spec{#1=1} hint@ld2=cs", Checked, "spec{#1=1} unroll=4 unroll@1=2", "hint@ld2=cs"},
		{"maxnreg=56 frobnicate=1", Approximate, "", "maxnreg=56"},
	} {
		r := mustRecipe(t, c.recipe)
		if ExactnessOf(r) != c.exact || At(r, Source).String() != c.source ||
			At(r, PTX).String() != c.ptx {
			t.Errorf("%q: %v, source %q, ptx %q", r, ExactnessOf(r), At(r, Source), At(r, PTX))
		}
	}
	for e := ByConstruction; e <= Approximate; e++ {
		if back, err := ParseExactness(e.String()); err != nil || back != e {
			t.Errorf("%v reads back as %v, %v", e, back, err)
		}
	}
	if _, err := ParseExactness("bitwise"); err == nil {
		t.Error("an unknown exactness is taken")
	}
}

// The sizes are those of NVIDIA's occupancy calculator for 64 K registers an SM, granularity 256 a
// warp, 4 warps.
func TestMaxBlock(t *testing.T) {
	for regs, want := range map[int]int{
		0: 1024, 1: 1024, 32: 1024, 63: 1024, 64: 1024, 65: 896, 72: 896, 73: 768, 80: 768, 96: 640,
		104: 512, 128: 512, 129: 384, 168: 384, 169: 256, 255: 256,
	} {
		if got := maxBlock(regs); got != want {
			t.Errorf("MaxBlock(%d) = %d, want %d", regs, got, want)
		}
	}
	kernel := func(head string) *ptx.Func {
		m, err := ptx.Parse([]byte(".version 8.0\n.target sm_90\n.entry k()\n" + head + "\n{ ret; }\n"))
		if err != nil {
			t.Fatal(err)
		}
		return m.Entry("k")
	}
	for _, c := range []struct {
		head   string
		before int
		limit  int
	}{
		{"", 0, 64}, {"", 40, 64}, {"", 65, 72}, {"", 128, 128}, {"", 200, 255},
		{".maxntid 1024", 40, 64}, {".maxntid 512", 40, 128}, {".maxntid 513", 0, 96},
		{".maxntid 256, 1, 1", 0, 255},
		{".maxntid 8, 8, 4", 0, 255}, {".reqntid 768", 200, 80}, {".maxntid 1024", 100, 128},
		{".maxntid 4096", 0, 64},
	} {
		f := kernel(c.head)
		if got := largestCount(f, c.before); got != c.limit {
			t.Errorf("Limit(%q, %d) = %d, want %d", c.head, c.before, got, c.limit)
		}
		if !fitsBefore(f, c.before, c.limit) || c.limit < 255 && fitsBefore(f, c.before, c.limit+1) {
			t.Errorf("%q, %d: %d is not the limit", c.head, c.before, c.limit)
		}
	}
}

// TestVerify: what the verifier must find, in kernels as a faulty pass could leave them.
func TestVerify(t *testing.T) {
	const head = ".version 8.0\n.target sm_90\n.entry k(.param .u64 a)\n{\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n"
	const body = "mov.u32 %r1, 1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra L;\nmov.u32 %r2, %r1;\nL:\nadd.s32 %r3, %r1, %tid.x;\n"
	parse := func(text string) *ptx.Func {
		m, err := ptx.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return m.Entry("k")
	}
	before := parse(head + body + "ret;\n}\n")
	for _, c := range []struct{ name, text, want string }{
		{"the same", head + body + "ret;\n}\n", ""},
		{"a new register, written first", head + ".reg .b32 %x;\nmov.u32 %x, 1;\n" + body + "mov.u32 %r1, %x;\nret;\n}\n", ""},
		{"a new register, written on both ways", head + ".reg .b32 %x;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra A;\nmov.u32 %x, 1;\nbra B;\nA: mov.u32 %x, 2;\nB:\n" + body + "mov.u32 %r1, %x;\nret;\n}\n", ""},
		{"in a scope of its own", head + body + "{ .reg .b32 %r1; mov.u32 %r1, 3; }\nret;\n}\n", ""},
		{"a loop that comes back", head + ".reg .b32 %x;\nmov.u32 %x, 1;\nA: add.s32 %x, %x, 1;\nsetp.ne.s32 %p1, %x, 9;\n@%p1 bra A;\n" + body + "ret;\n}\n", ""},
		{"read before it is written", head + ".reg .b32 %x;\n" + body + "mov.u32 %r1, %x;\nmov.u32 %x, 1;\nret;\n}\n", "%x may be read before"},
		{"written on one way only", head + ".reg .b32 %x;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra A;\nmov.u32 %x, 1;\nA:\n" + body + "mov.u32 %r1, %x;\nret;\n}\n", "%x may be read before"},
		{"written behind a guard only", head + ".reg .b32 %x;\n@%p1 mov.u32 %x, 1;\n" + body + "mov.u32 %r1, %x;\nret;\n}\n", "%x may be read before"},
		{"a new guard without value", head + ".reg .pred %q;\n" + body + "@%q mov.u32 %r1, 3;\nret;\n}\n", "%q may be read before"},
		{"not declared", head + body + "mov.u32 %r1, %y;\nret;\n}\n", "%y is not declared"},
		{"beyond the range", head + body + "mov.u32 %r4, 1;\nret;\n}\n", "%r4 is not declared"},
		{"declared twice", head + ".reg .b32 %x;\n.reg .b32 %x;\n" + body + "ret;\n}\n", "declared twice"},
		{"range declared twice", head + ".reg .b64 %r<9>;\n" + body + "ret;\n}\n", "declared twice"},
		{"declared inside and outside of a range", head + ".reg .b32 %r2;\n" + body + "ret;\n}\n", "declared twice"},
		{"a label gone", head + strings.Replace(body, "L:\n", "", 1) + "ret;\n}\n", "no label L"},
		{"a label twice", head + body + "L: ret;\n}\n", "is given twice"},
		{"a branch into a scope", head + body + "{ M: mov.u32 %r1, 1; }\nbra M;\nret;\n}\n", "no label M"},
		{"widths that fit", head + ".reg .b64 %y;\nmov.u32 %r2, 0;\ncvt.u64.u32 %y, %r2;\nshl.b64 %y, %y, 3;\nadd.s64 %y, %y, 8;\nld.shared.u8 %r2, [%y];\nst.shared.v2.b32 [%y], {%r2, %r2};\n@%p1 mov.b64 {%r2, %r3}, %y;\n" + body + "ret;\n}\n", ""},
		{"no longer written", head + strings.Replace(body, "mov.u32 %r1, 1;\n", "", 1) + "ret;\n}\n", "%r1 is read but no longer written"},
	} {
		err := verify(before, parse(c.text))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestHintsOnly: hint changes nothing but the words of the hint; bypass, taken back, is the
// kernel that it was.
func TestHintsOnly(t *testing.T) {
	text, err := os.ReadFile("ptx/testdata/bench.ptx")
	if err != nil {
		t.Fatal(err)
	}
	m, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	recipes := make(map[string]recipe.Recipe)
	loads := 0
	for _, f := range m.Entries() {
		l, s := Accesses(f)
		loads += l
		if l > 0 && s > 0 {
			recipes[f.Name] = mustRecipe(t, "hint@ld=L1::evict_last.L2::128B hint@st=L1::no_allocate")
		}
	}
	if loads < 50 {
		t.Fatalf("only %d loads take a hint", loads)
	}
	out, refused, err := Options{Dynamic: noDynamic(recipes)}.apply(text, recipes)
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	if n := strings.Count(string(out), ".L1::evict_last.L2::128B"); n < 50 {
		t.Errorf("%d loads changed, %d take a hint", n, loads)
	}
	back := strings.NewReplacer(".L1::evict_last.L2::128B", "", ".L1::no_allocate", "").Replace(string(out))
	if back != string(text) {
		t.Error("something besides the hints changed")
	}
}

func BenchmarkApply(b *testing.B) {
	text, err := os.ReadFile("ptx/testdata/bench.ptx")
	if err != nil {
		b.Fatal(err)
	}
	m, err := ptx.Parse(text)
	if err != nil {
		b.Fatal(err)
	}
	for _, wanted := range []string{"maxnreg=40", "hint@ld=L2::128B hint@st=cs", "bypass=4", "hint@ld=L2::128B hint@st=cs bypass=4 maxnreg=40"} {
		r, err := recipe.Parse(wanted)
		if err != nil {
			b.Fatal(err)
		}
		recipes := make(map[string]recipe.Recipe)
		for _, f := range m.Entries() {
			if loads, stores := Accesses(f); loads > 0 && stores > 0 { // every kernel of the file
				recipes[f.Name] = r
			}
		}
		b.Run(strings.ReplaceAll(wanted, " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			begun, n := processorTime(b), 0
			for b.Loop() {
				_, refused, err := Options{}.apply(text, recipes)
				if err != nil || len(refused) > 0 {
					b.Fatal(err, refused)
				}
				n++
			}
			// On all cores together, the collector's share too; a busy machine does not change it.
			b.ReportMetric(float64(n*len(text))/1e6/(processorTime(b)-begun).Seconds(), "MB/CPU-s")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestManyDeclarations: registers that are declared one by one are compared with each other, so
// that there is a bound.
func TestManyDeclarations(t *testing.T) {
	text := func(n int) []byte {
		var b strings.Builder
		b.WriteString(".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n")
		for i := range n {
			fmt.Fprintf(&b, "\t.reg .b32 \t%%x%dx;\n", i)
		}
		b.WriteString("\tret;\n}\n")
		return []byte(b.String())
	}
	wanted := map[string]recipe.Recipe{"k": mustRecipe(t, "maxnreg=32")}
	if out, refused, err := (Options{}).apply(text(200), wanted); err != nil || len(refused) > 0 || !strings.Contains(string(out), ".maxnreg 32") {
		t.Errorf("200: %v, %v", refused, err)
	}
	many := text(maxDeclared + 1)
	if out, refused, err := (Options{}).apply(many, wanted); err != nil || refused["k"] == nil || !strings.Contains(refused["k"].Error(), "declarations") || string(out) != string(many) {
		t.Errorf("%d: %v, %v", maxDeclared+1, refused, err)
	}
}

// TestAfter: GNVCC_KEEP gets a kernel's text behind each pass, in the order of the passes; the last
// one is what ptxas is given.
func TestAfter(t *testing.T) {
	text, err := os.ReadFile("ptx/testdata/bench.ptx")
	if err != nil {
		t.Fatal(err)
	}
	m, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Entries() {
		if l, _ := Accesses(f); l == 0 {
			continue
		}
		var levers, texts []string
		o := Options{After: func(kernel, lever string, text []byte) {
			if kernel != f.Name {
				t.Errorf("%s, not %s", kernel, f.Name)
			}
			levers, texts = append(levers, lever), append(texts, string(text))
		}}
		out, refused := o.Rewrite(m, map[string]recipe.Recipe{f.Name: mustRecipe(t, "maxnreg=64 hint@ld=cs")})
		if len(refused) > 0 {
			t.Fatal(refused)
		}
		if !slices.Equal(levers, []string{"hint", "maxnreg"}) || texts[0] == texts[1] ||
			strings.Contains(texts[0], ".maxnreg") || texts[1] != string(out.Entry(f.Name).Text()) {
			t.Errorf("behind %v: the texts are not those of the passes", levers)
		}
		return
	}
	t.Fatal("no kernel with loads")
}
