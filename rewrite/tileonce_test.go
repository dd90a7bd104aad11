package rewrite

import (
	"fmt"
	"maps"
	"testing"

	"gnvcc/rewrite/recipe"
)

// TestTiledLoopsAround: a loop that threads leave in its middle, in different turns, has no tile in it; and
// of two loops the second does not write where the first one's boxes are still read.
func TestTiledLoopsAround(t *testing.T) {
	turn := func(label, loads, pointer string) string {
		return fmt.Sprintf("mov.u64 %%rd5, %s;\nmov.u32 %%r4, %%r3;\n%s:\n%sadd.f32 %%f2, %%f2, %%f1;\n"+
			"add.s64 %%rd5, %%rd5, 4;\nadd.s64 %%rd6, %%rd6, 4;\nadd.s32 %%r4, %%r4, -1;\n"+
			"setp.ne.s32 %%p2, %%r4, 0;\n@%%p2 bra %s;\n", pointer, label, loads, label)
	}
	near := "ld.global.nc.f32 %f1, [%rd5];\n"
	for what, c := range map[string]struct {
		body  string
		tiled bool
	}{
		"left in the middle": {"mov.u32 %r5, 0;\nOUT:\nsetp.gt.u32 %p1, %r5, %r1;\n@%p1 bra END;\n" +
			turn("L", near, "%rd4") + "add.s32 %r5, %r5, 1;\nbra OUT;\nEND:\n", false},
		"more boxes": {turn("L", near, "%rd4") + "mov.u64 %rd6, %rd7;\n" + turn("M", near+"ld.global.nc.f32 %f3, [%rd6];\n"+
			"ld.global.nc.u16 %r8, [%rd5];\nadd.f32 %f2, %f2, %f3;\nadd.s32 %r9, %r9, %r8;\n", "%rd4"), true},
	} {
		text := []byte(`.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
{
.reg .b64 %rd<10>;
.reg .b32 %r<10>;
.reg .f32 %f<10>;
.reg .pred %p<9>;
ld.param.u64 %rd1, [in];
ld.param.u64 %rd2, [out];
ld.param.u32 %r3, [n];
mov.u32 %r1, %tid.x;
mov.u32 %r9, 0;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd7, %rd2, %rd3;
mov.u64 %rd6, %rd7;
mov.f32 %f2, 0f00000000;
` + c.body + "st.global.f32 [%rd7+4096], %f2;\nst.global.u32 [%rd7+8192], %r9;\nret;\n}\n")
		k := &tileKernel{block: [3]int{8, 1, 1}, grid: [3]int{1, 1, 1}}
		r, err := recipe.Parse("tile=4")
		if err != nil {
			t.Fatal(err)
		}
		out, refused, err := Options{Dynamic: map[string]int{"k": 0}, Blocks: map[string][3]int{"k": k.block}}.
			apply(text, map[string]recipe.Recipe{"k": r})
		if err != nil || (refused["k"] == nil) != c.tiled {
			t.Errorf("%s: %v %v", what, err, refused["k"])
			continue
		}
		params := map[string]uint64{"in": 1 << 20, "out": 1 << 30, "n": 13}
		was, err := k.run(text, params)
		if err != nil {
			t.Fatal(what, err)
		}
		if now, err := k.run(out, params); c.tiled && (err != nil || now.fromTile == 0 || !maps.Equal(was.stored, now.stored)) {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
}
