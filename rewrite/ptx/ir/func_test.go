package ir

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
)

const loopText = `.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
	.reg .pred %p<3>;
	.reg .b32 %r<5>;
	.reg .f32 %f<3>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	mov.u32 %r4, 0;
	setp.ge.s32 %p1, %r2, %r1;
	@%p1 bra DONE;
AGAIN:
	ld.global.v2.f32 {%f1, %f2}, [%rd1+-8];
	{ .reg .b32 %r4; mov.u32 %r4, %r2; st.shared.u32 [%r4 + 0x10], %r1; }
	add.s32 %r4, %r4, 1;
	setp.lt.s32 %p2, %r4, %r1;
	@!%p2 bra DONE;
	bra AGAIN;
DONE:
	ret;
}
`

// TestInst: statements taken apart.
func TestInst(t *testing.T) {
	_, w := flowOf(t, loopText)
	for text, want := range map[string]string{
		"ld.param.u64":     "ld [param u64] %rd1 %rd1; p None +0; ",
		"mov.u32 %r2":      "mov [u32] %r2 %r2; %tid.x None; ",
		"mov.u32 %r4, 0":   "mov [u32] %r4 %r4; 0 None; ",
		"@%p1 bra":         "bra [] DONE None; if %p1",
		"@!%p2 bra":        "bra [] DONE None; unless %p2",
		"ld.global.v2.f32": "ld [global v2 f32] {%f1, %f2} None; %rd1 %rd1 -8; ",
		"st.shared.u32":    "st [shared u32] %r4 %r4'14 +16; %r1 %r1; ", // the inner one
		"DONE":             " [] ",
	} {
		i := slices.IndexFunc(w.Stmts, func(s ptx.Stmt) bool {
			return strings.HasPrefix(string(w.Text()[s.Start:s.End]), text)
		})
		name := func(r Reg) string {
			if r == None {
				return "None"
			}
			return w.Name(r)
		}
		x := w.Inst(i)
		got := fmt.Sprint(x.Op, " ", x.Words, " ")
		for _, o := range x.Args {
			got += o.Text + " " + name(o.Reg)
			if o.Address {
				got += fmt.Sprintf(" %+d", o.Offset)
			}
			got += "; "
		}
		if x.Guard != None {
			got += map[bool]string{false: "if ", true: "unless "}[x.Unless] + name(x.Guard)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestGraph: the loop, what stands on every way, where ways meet, what differs between threads.
func TestGraph(t *testing.T) {
	_, w := flowOf(t, loopText)
	if n := len(w.Blocks); n != 4 {
		t.Fatalf("%d blocks", n)
	}
	if l := w.Loops(); len(l) != 1 || l[0].Head != 1 || w.Depth(2) != 1 || w.Depth(3) != 0 {
		t.Errorf("loops %v", l)
	}
	if !w.Dominates(0, 3) || !w.Dominates(1, 2) || w.Dominates(1, 3) || w.Meet(0) != 3 || w.Meet(2) != 1 {
		t.Errorf("dominators %v, postdominators %v", w.graph.idom(), w.graph.ipdom())
	}
	if got := w.Apart(0); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("the first branch decides about %v", got)
	}
	u := w.Uniform(func(int) bool { return false })
	if !slices.Equal(u.Divergent, []bool{false, true, true, false}) {
		t.Errorf("divergent: %v", u.Divergent)
	}
	u = w.Uniform(func(i int) bool { return i == w.Branch(0) })
	if slices.Contains(u.Divergent, true) {
		t.Errorf("with the first branch held: %v", u.Divergent)
	}
}
