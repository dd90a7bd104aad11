package fold

import (
	"fmt"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
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
		{"max", `max.u32 %r2, %r1, 7; sub.s32 %r3, %r2, 7; rem.u32 %r3, %r9, %r3;`, "divide by 0", 4},
		{"max -1", `max.u32 %r2, %r1, 7; sub.s32 %r3, %r2, 7; rem.u32 %r3, %r9, %r3;`, "", -1},
	} {
		module, err := ptx.Parse([]byte(fmt.Sprintf(`.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 k_param_0) { .reg .b32 %%r<10>; .reg .pred %%p<3>;
	ld.param.u32 %%r1, [k_param_0]; mov.u32 %%r9, %%tid.x;
	%s
	ret; }`, c.body)))
		if err != nil {
			t.Fatal(c.name, err)
		}
		err = Undefined(module, "k", Fixed{Integers: map[string]int64{"0+0": c.n}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
