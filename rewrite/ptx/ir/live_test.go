package ir

import (
	"os"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
)

const flowText = `.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
	.reg .pred %p<4>;
	.reg .b16 %rs<2>;
	.reg .b32 %r<10>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, 0;
	mov.u32 %r3, 7;
$outer:
	mov.u32 %r4, 0;
$inner:
	add.s32 %r2, %r2, %r4;
	@%p1 mov.u32 %r5, %r2;
	{ .reg .b32 %r3; mov.u32 %r3, %r2; add.s32 %r4, %r4, %r3; }
	setp.lt.s32 %p2, %r4, %r1;
	@%p2 bra $inner;
	add.s32 %r2, %r2, %r5;
	setp.lt.s32 %p3, %r2, %r1;
	@%p3 bra $outer;
	st.global.v2.u32 [%rd1], {%r2, %r3};
	cvt.u16.u32 %rs1, %r3;
	st.global.u16 [%rd1+8], %rs1;
	ret;
}
`

func flowOf(t testing.TB, text string) (*ptx.Func, *Func) {
	t.Helper()
	m, err := ptx.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f := m.Entries()[0]
	w, err := Of(f)
	if err != nil {
		t.Fatal(err)
	}
	return f, w
}

func TestFlow(t *testing.T) {
	f, w := flowOf(t, flowText)
	at := func(text string) int {
		for i, s := range f.Stmts {
			if strings.HasPrefix(string(f.Text()[s.Start:s.End]), text) {
				return i
			}
		}
		t.Fatalf("no statement %q", text)
		return 0
	}
	loops := func(text string) int {
		for b, x := range w.Blocks {
			if i := at(text); x.First <= i && i < x.Last {
				return w.Depth(b)
			}
		}
		return -1
	}
	for text, want := range map[string]int{"mov.u32 %r2, 0": 0, "mov.u32 %r4, 0": 1,
		"add.s32 %r2, %r2, %r4": 2, "add.s32 %r2, %r2, %r5": 1, "ret": 0} {
		if got := loops(text); got != want {
			t.Errorf("%q stands in %d loops, not %d", text, got, want)
		}
	}
}

// TestFlowBySearch compares the data flow with its definition, searched path by path: a register is
// live where a read can be reached without passing a write that is surely done.
func TestFlowBySearch(t *testing.T) {
	texts := map[string]string{"own": flowText}
	for _, name := range []string{"../testdata/bench.ptx", "../testdata/odd.ptx"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	functions, points := 0, 0
	for name, text := range texts {
		m, err := ptx.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Funcs {
			if !f.Body || len(f.Stmts) > 1500 {
				continue
			}
			w, err := Of(f)
			if err != nil {
				if _, blocks := f.Blocks(); blocks == nil {
					t.Errorf("%s: %v", f.Name, err)
				}
				continue
			}
			functions++
			want := w.search()
			sums := make([]int32, len(f.Stmts))
			for i := range f.Stmts {
				for _, r := range want[i] {
					sums[i] += int32(w.Words(r))
				}
				points += len(want[i])
			}
			pressure := w.Pressure(nil)
			for i := range f.Stmts {
				if pressure[i] != sums[i] {
					t.Fatalf("%s, %s, statement %d: %d words, %d by the search", name, f.Name, i, pressure[i],
						sums[i])
				}
			}
			for i := 0; i < len(f.Stmts); i += 1 + len(f.Stmts)/50 {
				if got := w.Live(i); !slices.Equal(got, want[i]) {
					t.Fatalf("%s, %s, statement %d: %v live, %v by the search", name, f.Name, i, got, want[i])
				}
			}
			ranges := make([][]Reg, len(f.Stmts))
			for r := range w.group {
				var list []Access
				for _, a := range w.access {
					if a.Reg == Reg(r) {
						list = append(list, a)
					}
				}
				if len(list) > 0 {
					w.Range(Reg(r), list, func(i int) { ranges[i] = append(ranges[i], Reg(r)) })
				}
			}
			for i := range ranges {
				if !slices.Equal(ranges[i], want[i]) {
					t.Fatalf("%s, %s, statement %d: the ranges give %v, the search %v", name, f.Name, i, ranges[i],
						want[i])
				}
			}
		}
	}
	if functions < 15 || points < 8000 {
		t.Errorf("only %d functions with %d live registers were compared", functions, points)
	}
}

// search finds what is live in front of each statement, register by register, walking backwards
// from the reads.
func (w *Func) search() [][]Reg {
	before := make([][]int, len(w.Stmts))
	for _, b := range w.Blocks {
		for i := b.First + 1; i < b.Last; i++ {
			before[i] = append(before[i], i-1)
		}
		for _, s := range b.Succs {
			before[w.Blocks[s].First] = append(before[w.Blocks[s].First], b.Last-1)
		}
	}
	out := make([][]Reg, len(w.Stmts))
	for r := range w.group {
		reads, writes := make(map[int]bool), make(map[int]bool)
		for _, a := range w.access {
			if a.Reg == Reg(r) {
				reads[int(a.Stmt)] = reads[int(a.Stmt)] || a.Read
				writes[int(a.Stmt)] = writes[int(a.Stmt)] || a.Write && !a.Kept
			}
		}
		live := make(map[int]bool)
		var todo []int
		for i, read := range reads {
			if read {
				todo = append(todo, i)
			}
		}
		for len(todo) > 0 {
			i := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if live[i] {
				continue
			}
			live[i] = true
			for _, p := range before[i] {
				if !writes[p] {
					todo = append(todo, p)
				}
			}
		}
		for i := range live {
			out[i] = append(out[i], Reg(r))
		}
	}
	return out
}
