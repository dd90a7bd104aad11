package ptx_test

import (
	"os"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// testdata/odd.ptx holds what nvcc rarely emits: it must be real PTX, and read as what it is.

func oddModule(t *testing.T) *ptx.Module {
	t.Helper()
	text, err := os.ReadFile("testdata/odd.ptx")
	if err != nil {
		t.Fatal(err)
	}
	return roundTrip(t, text)
}

func TestOddAssembles(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	if v := kits[len(kits)-1].Version; v < "13.5" {
		t.Skipf("SKIPPED: ptxas %s does not know all of these forms; 13.5 does", v)
	}
	m := oddModule(t)
	edited(t, m)
	if _, err := kits[len(kits)-1].Assemble(t, m.Bytes(), "-arch=sm_90", "-c"); err != nil {
		t.Error(err)
	}
}

func TestOddModule(t *testing.T) {
	m := oddModule(t)
	if m.Version != "8.0" || m.AddressSize != 64 ||
		strings.Join(m.Target, " ") != "sm_90 texmode_independent" {
		t.Errorf("header: %q %d %q", m.Version, m.AddressSize, m.Target)
	}
	var names []string
	for _, f := range m.Funcs {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "leaf aliased other never bare k" {
		t.Errorf("functions: %s", got)
	}
	if f := m.Func("other"); f == nil || f.Name != "aliased" {
		t.Errorf("the alias leads to %v", f)
	}
	for _, c := range []struct {
		name, space, typ, linkage string
		size, align               int
		init                      string
	}{
		{"unsized", "global", "b8", "extern", 0, 4, ""},
		{"chain", "global", "u64", "visible", 24, 8,
			"{ generic(unsized), generic(chain)+8, /* end */ 77 }"},
		{"quad", "global", "f32", "", 16, 16, "{0f3F800000, 0f3F800000, 0f00000000, 0f00000000}"},
		{"first", "global", "s32", "", 4, 4, ""},
		{"second", "global", "s32", "", 4, 4, "3"},
		{"third", "global", "s32", "", 16, 4, "{{1, 2}, {3, 4}}"},
		{"tex0", "global", "texref", "", 8, 8, ""},
		{"mask", "const", "b8", "", 4, 1, "{0xff, 0x0F, 0b101, 017}"},
		{"half", "const", "f64", "weak", 8, 8, "0d3FE0000000000000"},
		{"shared_by_files", "global", "b32", "common", 4, 4, ""},
	} {
		g := m.Global(c.name)
		if g == nil {
			t.Errorf("no %s", c.name)
			continue
		}
		init := string(m.Bytes()[g.Init.Start:g.Init.End])
		if g.Space != c.space || g.Type != c.typ || g.Linkage != c.linkage || g.Size() != c.size ||
			g.Alignment() != c.align || init != c.init {
			t.Errorf("%s: %+v, size %d, align %d, init %q", c.name, g, g.Size(), g.Alignment(), init)
		}
	}
	k := m.Entry("k")
	if n, exact := k.Threads(); n != 256 || exact {
		t.Errorf("threads %d %v", n, exact)
	}
	if got := k.Pragmas(); len(got) != 1 || got[0] != "nounroll" {
		t.Errorf("pragmas %q", got)
	}
	if len(k.Params) != 3 || !k.Params[0].Pointer || k.Params[0].Alignment() != 8 ||
		k.Params[1].Size() != 24 || k.Params[1].Alignment() != 8 || k.Params[2].Type != "f32" {
		t.Errorf("parameters %+v", k.Params)
	}
	if n := m.Func("never"); len(n.Directives) != 1 || n.Directives[0].Name != ".noreturn" {
		t.Errorf("never: %+v", n.Directives)
	}
}

// find returns the first statement that contains a text.
func find(t *testing.T, f *ptx.Func, part string) int {
	t.Helper()
	for i, s := range f.Stmts {
		if strings.Contains(string(f.Text()[s.Start:s.End]), part) {
			return i
		}
	}
	t.Fatalf("no statement with %q", part)
	return 0
}

func TestOperandsAndEffects(t *testing.T) {
	k := oddModule(t).Entry("k")
	for _, c := range []struct{ part, guard, operands, reads, writes string }{
		{"setp.lt.and", "", "pp|q;a;0x10U;!%p1", "a %p1", "pp q"},
		{"add.s32 b, b, -1", "!pp", "b;b;-1", "pp b", "b"},
		{"@pp bra", "pp", "L1", "pp", ""},
		{"ld.param.f32", "", "%f1;[ f ]", "f", "%f1"},
		{"ld.param.u32 a", "", "a;[s + 4]", "s", "a"},
		{"mov.u64 %rd2", "", "%rd2;chain+8", "chain", "%rd2"},
		{"[%rd1+-4]", "", "a;[%rd1+-4]", "%rd1", "a"},
		{"st.shared", "", "[two+8];a", "two a", ""},
		{"call (b), leaf", "", "(b);leaf;(a, p0)", "leaf a p0", "b"},
		{"call.uni never", "", "never", "never", ""},
		{"brx.idx", "", "idx;Ltable", "idx", ""},
		{"mov.b64 {a, b}", "", "{a, b};%rd2", "%rd2", "a b"},
		{"tex.2d", "", "{%f1,%f1,%f2,%f2};[tex0, smp, {%f1, %f2}]", "tex0 smp %f1 %f2",
			"%f1 %f1 %f2 %f2"},
		{"shfl.sync", "", "a|pp;b;0;31;-1", "b", "a pp"},
		{"mov.f32 %f2", "", "%f2;%v.x", "%v.x", "%f2"},
	} {
		i := find(t, k, c.part)
		guard, neg := k.Guard(i)
		g := string(guard)
		if neg {
			g = "!" + g
		}
		var ops, reads, writes []string
		for _, o := range k.Operands(i, nil) {
			ops = append(ops, string(k.Bytes(o)))
		}
		k.Effects(i, func(reg ptx.Span, read, write bool) {
			if read {
				reads = append(reads, string(k.Bytes(reg)))
			}
			if write {
				writes = append(writes, string(k.Bytes(reg)))
			}
		})
		if g != c.guard || strings.Join(ops, ";") != c.operands || strings.Join(reads, " ") != c.reads ||
			strings.Join(writes, " ") != c.writes {
			t.Errorf("%s: guard %q, operands %q, reads %q, writes %q", c.part, g, ops, reads, writes)
		}
	}
	for _, c := range []struct{ part, base, offset string }{
		{"ld.param.u32 a", "s", "+ 4"}, {"[%rd1+-4]", "%rd1", "+-4"}, {"[%rd1+0x10]", "%rd1", "+0x10"},
		{"ld.param.f32", "f", ""},
	} {
		i := find(t, k, c.part)
		base, offset, ok := k.Address(k.Operands(i, nil)[1])
		if !ok || string(base) != c.base || string(offset) != c.offset {
			t.Errorf("%s: %q %q %v", c.part, base, offset, ok)
		}
	}
}

func TestBlocks(t *testing.T) {
	k := oddModule(t).Entry("k")
	blocks, err := k.Blocks()
	if err != nil {
		t.Fatal(err)
	}
	// Blocks by the first statement's text, with where they lead to.
	at := make(map[string]int)
	for n, b := range blocks {
		s := k.Stmts[b.First]
		at[string(k.Text()[s.Start:s.End])] = n
	}
	l0, ok0 := at["L0 :"]
	l1, ok1 := at["L1:"]
	l2, ok2 := at["L2:"]
	if !ok0 || !ok1 || !ok2 {
		t.Fatalf("blocks begin at %v", at)
	}
	equal := func(what string, got []int, want ...int) {
		if len(got) != len(want) {
			t.Errorf("%s leads to %v, want %v", what, got, want)
			return
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s leads to %v, want %v", what, got, want)
			}
		}
	}
	equal("the entry", blocks[0].Succs, l1, 1)
	equal("@!q bra.uni L1", blocks[1].Succs, l1, l0)
	equal("L0", blocks[l0].Succs, l1)
	equal("brx.idx", blocks[at["Ltable:"]].Succs, l0, l1, l2)
	equal("the last one", blocks[l2].Succs)
}

func TestSyntaxErrors(t *testing.T) {
	head := ".version 8.0\n.target sm_90\n.address_size 64\n"
	for _, c := range []struct{ text, want string }{
		{"garbage", "line 4: \"garbage\" at module level"},
		{".visible .entry k() { mov.u32 %r1, 3 }", "should end the statement"},
		{".visible .entry k() { mov.u32 %r1, {3; }", "';' inside braces"},
		{".visible .entry k() { ret;", "without its closing"},
		{".visible .entry k() { mov.u32 a, b", "ends inside a statement"},
		{".visible .entry k( .param .u64 p { ret; }", "in a declaration"},
		{".visible .entry ( .param .u64 p ) { ret; }", "function's name"},
		{".visible .entry k() .maxntid 3", "body of k"},
		{".visible .nonsense k;", "not known at module level"},
		{".global .u32 x[abc];", "count"},
		{".global .u32 x = {1, 2;", "without its end"},
		{".visible .entry k() { @3 bra L; }", "predicate"},
		{".visible .entry k() { ] }", "statement should begin"},
		{".section .debug_str { .b8 1", "'{' without"},
		{".section .debug_str", ".section without"},
		{".file 1 \"open", "string"},
		{".visible .entry k() { .pragma \"x; }\n }", "string"},
		{".address_size x", ".address_size"},
		{".version", ".version"},
		{".global name;", ""},
		{".visible .entry k(p) { ret; }", "without a state space"},
		{"\n\n/* open", ""},
	} {
		m, err := ptx.Parse([]byte(head + c.text))
		if c.want == "" {
			if err != nil {
				t.Errorf("%q: %v", c.text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v (module %v), want %q", c.text, err, m != nil, c.want)
		}
	}
}

func TestEdits(t *testing.T) {
	const text = ".version 8.0\n.target sm_90\n.visible .entry k()\n.maxntid 32\n{\n\t.reg .b32 %r<3>;\n\tmov.u32 %r1, 1;\nL:\n\tmov.u32 %r2, 2; ret;\n}\n// end\n"
	parse := func() (*ptx.Module, *ptx.Func) {
		m, err := ptx.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return m, m.Entry("k")
	}
	m, f := parse()
	f.Insert(1, "a;")
	f.Insert(1, "b;")
	f.Replace(1, "mov.u32 %r1, 7;")
	f.Insert(2, "c;")
	f.Delete(3)
	f.AddDirective(".maxnreg 40")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	want := ".version 8.0\n.target sm_90\n.visible .entry k()\n.maxntid 32\n.maxnreg 40\n{\n\t.reg .b32 %r<3>;\n\ta;\n\tb;\n\tmov.u32 %r1, 7;\n\tc;\nL:\n\t ret;\n}\n// end\n"
	if got := string(m.Bytes()); got != want {
		t.Errorf("got\n%s", got)
	}
	f.RemoveDirective(".maxntid")
	f.AddDirective(".reqntid 64")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := string(m.Bytes()); !strings.Contains(got, "k()\n.maxnreg 40\n.reqntid 64\n{") {
		t.Errorf("got\n%s", got)
	}

	m, f = parse()
	f.Replace(1, "x;")
	f.ReplaceSpan(ptx.Span{Start: f.Stmts[1].Start + 1, End: f.Stmts[2].End}, "y;")
	if err := f.Commit(); err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("overlapping edits: %v", err)
	}
	f.Replace(1, "}")
	if err := f.Commit(); err == nil {
		t.Error("an edit that breaks the function was taken")
	}
	f.Insert(0, "x;")
	f.Discard()
	if err := f.Commit(); err != nil || string(m.Bytes()) != text {
		t.Errorf("%v\n%s", err, m.Bytes())
	}
	if err := f.SetText([]byte(".visible .entry other() { ret; }")); err == nil {
		t.Error("another kernel's text was taken")
	}
	if err := f.SetText([]byte(".visible .entry k() { ret; } .entry k2() { ret; }")); err == nil {
		t.Error("two kernels were taken for one")
	}
	if string(m.Bytes()) != text {
		t.Error("a refused edit changed the module")
	}
}

func TestTraits(t *testing.T) {
	head := ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 16 .b8 dyn[];\n.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n" +
		".extern .func free(.param .b64 a);\n.extern .func __assertfail(.param .b64 a);\n.shared .align 4 .b8 tile[100];\n" +
		".func inner() { trap; }\n.func outer() { call.uni inner; }\n.global .u64 table[1] = {outer};\n.visible .entry child() { bar.sync 0; ret; }\n.visible .entry k() {\n.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;\n"
	for _, c := range []struct {
		body string
		want ptx.Traits
	}{
		{"", ptx.Traits{}},
		{"bar.warp.sync -1;", ptx.Traits{}},
		{"barrier.cluster.arrive;", ptx.Traits{Cluster: true}},
		{"mov.u32 %r1, %cluster_ctarank;", ptx.Traits{Cluster: true}},
		{"setp.eq.u32 %p1, %cluster_ctarank, 0;", ptx.Traits{Cluster: true}},
		{"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2];", ptx.Traits{}},
		{"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd1], 16, [%r2], 3;", ptx.Traits{Cluster: true}},
		{"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;", ptx.Traits{}},
		{"tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r1], 64;", ptx.Traits{Cluster: true}},
		{"mov.u32 %r1, %envreg2;", ptx.Traits{GridSync: true}},
		{"mov.u32 %r1, %tid.x;", ptx.Traits{}},
		{"setmaxnreg.dec.sync.aligned.u32 40;", ptx.Traits{SetMaxNReg: true}},
		{"griddepcontrol.wait;", ptx.Traits{GridControl: true}},
		{"mov.u32 %r1, dyn;", ptx.Traits{SharedDynamic: true}},
		{"mov.u32 %r1, %dynamic_smem_size;", ptx.Traits{SharedDynamic: true}},
		{"mov.u32 %r1, tile;", ptx.Traits{SharedStatic: 100}},
		{".shared .align 8 .b8 own[24]; .local .b8 depot[8];", ptx.Traits{SharedStatic: 24, Local: 8}},
		{"ld.global.u32 %r1, [%rd1];", ptx.Traits{}},
		{"call.uni (%r1), vprintf, (%rd1, %rd2);", ptx.Traits{Calls: true}},
		{"call.uni free, (%rd1);", ptx.Traits{Calls: true}},
		{"call.uni __assertfail, (%rd1);", ptx.Traits{Calls: true}},
		{"call.uni outer;", ptx.Traits{Calls: true, Functions: true}},
		{"mov.u64 %rd1, table;", ptx.Traits{Calls: true, Functions: true}},
		{"call %rd1, (), proto;", ptx.Traits{Calls: true, Functions: true, Indirect: true}},
		{"mov.u64 %rd1, child;", ptx.Traits{DeviceLaunch: true}},
	} {
		m, err := ptx.Parse([]byte(head + c.body + "\nret;\n}\n"))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		got, err := m.Traits("k")
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n got %+v\nwant %+v", c.body, err, got, c.want)
		}
	}
	m, _ := ptx.Parse([]byte(head + "ret; }"))
	if _, err := m.Traits("none"); err == nil {
		t.Error("a kernel that is not there has traits")
	}
	if _, err := m.Identity("none"); err == nil {
		t.Error("a kernel that is not there has an identity")
	}
}
