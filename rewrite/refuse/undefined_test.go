package refuse

import (
	"fmt"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// TestUndefinedWays: a division by 0 and a shift by the width are found behind branches, in loops
// and selections, and not where no launch with these values comes to them, nor where a compiler
// can't know how often a loop runs.
func TestUndefinedWays(t *testing.T) {
	for _, c := range []struct {
		name, body, want string
		n                int64
	}{
		{"counter", `mov.u32 %r2, 0;
		L1: div.s32 %r3, %r9, %r2; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L1;`,
			"divide by 0", 4},
		{"downward", `add.s32 %r2, %r1, 1;
		L1: add.s32 %r3, %r2, -1; div.s32 %r4, %r9, %r3; setp.eq.s32 %p1, %r2, 1; @%p1 bra L2;
		setp.gt.s32 %p2, %r3, 0; mov.u32 %r2, %r3; @%p2 bra L1; L2: `, "divide by 0", 4},
		{"short", `mov.u32 %r2, 0;
		L1: shl.b32 %r3, %r9, %r2; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L1;`,
			"", 32},
		{"long", `mov.u32 %r2, 0;
		L1: shl.b32 %r3, %r9, %r2; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L1;`,
			"shift by 32", 33},
		{"data", `mov.u32 %r2, 0;
		L1: shl.b32 %r3, %r1, %r2; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r9; @%p1 bra L1;`,
			"", 40},
		{"break", `mov.u32 %r2, 0;
		L1: shl.b32 %r3, %r9, %r2; setp.eq.s32 %p2, %r3, 7; @%p2 bra L2; add.s32 %r2, %r2, 1;
		setp.lt.s32 %p1, %r2, %r1; @%p1 bra L1; L2: `, "", 40},
		{"one branch", `mov.u32 %r2, 0;
		L1: setp.eq.s32 %p2, %r9, 7; @%p2 bra L2; shl.b32 %r3, %r9, %r2; L2: add.s32 %r2, %r2, 1;
		setp.lt.s32 %p1, %r2, %r1; @%p1 bra L1;`, "shift by 32", 40},
		{"guard", `setp.gt.s32 %p1, %r1, 4; @!%p1 bra L1; sub.s32 %r2, %r1, 4; div.s32 %r3, %r9, %r2;
		L1: `, "", 5},
		{"dead", `setp.ne.s32 %p1, %r1, 4; @!%p1 bra L1; mov.u32 %r2, 0; div.s32 %r3, %r9, %r2;
		L1: `, "", 5 - 1},
		{"selection", `setp.ne.s32 %p1, %r1, 4; selp.b32 %r2, %r1, 0, %p1; rem.u32 %r3, %r9, %r2;`,
			"divide by 0", 4},
		{"clz", `clz.b32 %r2, %r1; shr.u32 %r3, %r9, %r2;`, "shift by 32", 0},
		{"clz 1", `clz.b32 %r2, %r1; shr.u32 %r3, %r9, %r2;`, "", 1},
		{"popc", `popc.b32 %r2, %r1; shr.u32 %r3, %r9, %r2;`, "shift by 32", -1},
		{"field", `bfe.s32 %r2, %r9, %r1, 8;`, "ends at 33", 25},
		{"field in it", `bfe.s32 %r2, %r9, %r1, 8; bfi.b32 %r2, %r9, %r9, 0, %r1;`, "", 24},
		{"field behind it", `L1: bfi.b64 %d2, %d1, %d1, 60, %r1; @%p0 bra L1;`, "ends at 65", 5},
		{"field of others", `bfe.s32 %r2, %r9, %r1, %r9; bfe.s32 %r2, %r9, 32, 1;`, "", 255},
		{"half", `mov.b32 {%h1, %h2}, %r1; cvt.u32.u16 %r2, %h2; sub.s32 %r2, %r2, 65540;
		rem.u32 %r3, %r9, %r2;`, "", 65540},
		{"max", `max.u32 %r2, %r1, 7; sub.s32 %r3, %r2, 7; rem.u32 %r3, %r9, %r3;`, "divide by 0", 4},
		{"max -1", `max.u32 %r2, %r1, 7; sub.s32 %r3, %r2, 7; rem.u32 %r3, %r9, %r3;`, "", -1},
	} {
		module, err := ptx.Parse([]byte(fmt.Sprintf(`.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 k_param_0) { .reg .b32 %%r<10>; .reg .pred %%p<3>; .reg .b16 %%h<3>; .reg .b64 %%d<3>;
	ld.param.u32 %%r1, [k_param_0]; mov.u32 %%r9, %%tid.x;
	%s
	ret; }`, c.body)))
		if err != nil {
			t.Fatal(c.name, err)
		}
		err = Undefined(module, "k", Fixed{"0+0": c.n})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestUndefinedTrips: where nothing is fixed, a loop whose number of turns stands in the code may be
// unrolled as a whole, and then its counter is known.
func TestUndefinedTrips(t *testing.T) {
	for trips, want := range map[int]string{32: "", 33: "shift by 32"} {
		module, err := ptx.Parse([]byte(fmt.Sprintf(`.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 k_param_0) { .reg .b32 %%r<10>; .reg .pred %%p<3>;
	ld.param.u32 %%r1, [k_param_0]; mov.u32 %%r2, 0;
	L1: shl.b32 %%r3, %%r1, %%r2; add.s32 %%r2, %%r2, 1; setp.lt.s32 %%p1, %%r2, %d; @%%p1 bra L1;
	ret; }`, trips)))
		if err != nil {
			t.Fatal(err)
		}
		if err := Undefined(module, "k", Fixed{}); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d turns: %v, want %q", trips, err, want)
		}
	}
}

// TestIntegers: what a register always is. A number of which one computes again and again from two
// readings is found, and at once; what a statement writes beside another register is not known.
func TestIntegers(t *testing.T) {
	text, want := "", int32(3)
	for n := range 60 {
		text += fmt.Sprintf("mad.lo.s32 %%a%d, %%a%d, %%a%[2]d, %%a%[2]d;\n", n+1, n)
		want += want * want
	}
	module, err := ptx.Parse([]byte(`.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 k_param_0) {
	.reg .b32 %a<61>, %r<10>; .reg .pred %p<3>; .reg .b64 %d<3>;
	ld.param.u32 %a0, [k_param_0]; cvt.u64.u32 %d1, %a0; add.u64 %d2, %d1, 0x700000000;
	mov.b64 {%r2, %r3}, %d2; setp.lt.s32 %p1|%p2, %a0, 9; selp.b32 %r4, 1, 2, %p2;
	` + text + `ret; }`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := computationOf(module, "k", Fixed{"0+0": 3})
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string) (int64, bool) {
		for r := range ir.Reg(c.Registers()) {
			if c.Name(r) == name {
				return c.value(ir.Operand{Text: name, Reg: r})
			}
		}
		t.Fatal(name)
		return 0, false
	}
	for reg, want := range map[string]int64{"%a60": int64(want), "%d2": 7<<32 + 3} {
		if v, ok := value(reg); !ok || v != want {
			t.Errorf("%s: %d, %v, want %d", reg, v, ok, want)
		}
	}
	for _, reg := range []string{"%r2", "%r3", "%p2", "%r4"} {
		if v, ok := value(reg); ok {
			t.Errorf("%s: %d", reg, v)
		}
	}
}
