package rewrite

import (
	"strings"
	"testing"

	"gnvcc/rewrite/coarsen"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
)

// coarsen is for second entries of which the launch's block is known, in one dimension.
func TestCoarsen(t *testing.T) {
	one := [3]int{1, 1, 1}
	for text, want := range map[string][3]int{
		"spec{host(block)=256x1x1} coarsen=2x1x1":                 {2, 1, 1},
		"coarsen=1x4x1 spec{host(block)=16x16x1,host(dynamic)=0}": {1, 4, 1},
		"coarsen=1x1x8 maxnreg=64 spec{#1=3,host(block)=256x1x1}": {1, 1, 8},
		"coarsen=2x1x1 spec{blockDim.x=64,blockDim.y=1}":          {2, 1, 1},
		"coarsen=2x1x1": {2, 1, 1}, // what the pass is given
		"spec{host(block)=256x1x1|coarsen=2x1x1} spec{#1=1}":       one,
		"spec{host(block)=256x1x1}":                                one,
		"spec{host(block)=8x8x8} throttle=3 spec{host(dynamic)=0}": one,
	} {
		r := mustRecipe(t, text)
		if err := Check(r); err != nil && !strings.Contains(text, "throttle") {
			t.Errorf("%s: %v", text, err)
		}
		if got := coarsen.Of(r); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, bad := range []string{"coarsen=2", "coarsen=2x1x1s", "coarsen=s", "coarsen=1x1x1", "coarsen=2x2x1", "coarsen=16x1x1",
		"coarsen=0x1x1", "coarsen=02x1x1", "coarsen=2x1x1x1", "coarsen@1=2x1x1",
		"coarsen=2x1x1 spec{#1=1}", "coarsen=2x1x1 spec{host(dynamic)=0}",
		"coarsen=2x1x1 spec{host(block)=256x1x1} shape=128x1x1",
		"spec{#1=1|coarsen=2x1x1} spec{host(block)=256x1x1}"} {
		if err := Check(mustRecipe(t, bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// Who may be coarsened, and in which dimensions.
func TestCoarsenable(t *testing.T) {
	const index = "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n" +
		"mad.lo.s32 %r4, %r1, %r2, %r3;\nst.global.u32 [%rd1], %r4;\n"
	const set = index + "setp.eq.u32 %p1, %r4, 7;\n@%p1 bra L;\nset.le.f32.u32 %r5, %r4, 9;\nL:\n"
	for _, c := range []struct {
		directives, body string
		dims             [3]bool
		why              string
	}{
		{"", index, [3]bool{true}, ""},
		{".maxntid 256, 1, 1\n.minnctapersm 2", index + "mov.u32 %r5, %ctaid.z;\n",
			[3]bool{true, false, true}, ""},
		{"", index + "mov.u32 %r5, %laneid;\n", [3]bool{true}, ""},
		{"", index + "{ .reg .b32 %smid, %r1234; mov.u32 %smid, %r1234; }\n", [3]bool{true}, ""},
		{"", index + "atom.global.add.u32 %r5, [%rd1], 1;\n", [3]bool{true}, ""},
		{"", "mov.u32 %r1, %tid.x;\n", [3]bool{}, "its block index"},
		{".reqnctapercluster 2, 1, 1", index, [3]bool{}, "cluster"},
		{"", ".shared .align 4 .b8 s[4];\n" + index + "st.shared.u32 [s], %r4;\nbar.sync 0;\n",
			[3]bool{true}, ""},
		{"", index + "shfl.sync.down.b32 %r5|%p1, %r4, 1, 31, -1;\n", [3]bool{true}, ""},
		{"", index + "setp.eq.u32 %p1, %r4, 7;\n@%p1 ret;\nbar.sync 0;\n", [3]bool{}, "bar.sync"},
		{"", index + "setp.eq.u32 %p1, %r4, 7;\n@%p1 ret;\nst.shared.u32 [%r3], %r1;\n" +
			".shared .align 4 .b8 s[4];\n", [3]bool{}, "shared memory"},
		{"", index + "mov.u32 %r5, %ctaid.y;\nsetp.eq.u32 %p1, %r4, 7;\n@%p1 ret;\nbar.sync 0;\n",
			[3]bool{false, true}, ""},
		{"", ".local .align 4 .b8 s[4];\nbar.sync 0;\n" + index, [3]bool{}, "local memory"},
		{"", index + "setp.eq.u32 %p1, %r4, 7;\n@%p1 bra L;\nst.global.u32 [%rd1], %r4;\nL:\nbar.sync 0;\n",
			[3]bool{true}, ""},
		{"", index + "setp.eq.u32 %p1, %r4, 7;\n@%p1 bra L;\nbar.sync 0;\nL:\n", [3]bool{}, "left out"},
		{"", index + "setp.eq.u32 %p1, %r4, 7;\n@%p1 bra L;\nmembar.gl;\nL:\nbar.sync 0;\n",
			[3]bool{}, "left out"},
		{"", set + "bar.sync 0;\n", [3]bool{true}, ""}, // nobody needs what it sets
		{"", set + "bar.sync 0;\nst.global.u32 [%rd1], %r5;\n", [3]bool{}, "loses"},
		{"", index + "setp.eq.u32 %p1, %r4, 7;\n@%p1 bra L;\ntestp.notanumber.f32 %p2, %r4;\nL:\n" +
			"bar.sync 0;\n@%p2 st.global.u32 [%rd1], %r4;\n", [3]bool{}, "loses"},
		{"", index + "L:\nsetp.eq.u32 %p1, %r4, 7;\nadd.u32 %r4, %r4, 1;\n@%p1 bra L;\nbar.sync 0;\n",
			[3]bool{}, "a loop"},
		{"", index + "@%q1 ret;\n", [3]bool{}, "a guard that it does not declare"},
		{"", ".reg .b128 %q<2>;\n" + index, [3]bool{}, "unsupported"},
		{"", index + "mov.u32 %r5, %smid;\n", [3]bool{}, "%smid"},
		{"", index + "mov.u64 %rd2, %clock64;\n", [3]bool{}, "%clock64"},
		{"", index + "mov.u32 %r5, %clusterid.x;\n", [3]bool{}, "a cluster of blocks"},
		{"", index + "activemask.b32 %r5;\n", [3]bool{}, "activemask"},
		{"", index + "add.cc.u32 %r5, %r4, 1;\n", [3]bool{}, "carry"},
		{"", index + "L:\nld.volatile.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra L;\n",
			[3]bool{}, "wait"},
	} {
		m, err := ptx.Parse([]byte(".version 8.0\n.target sm_90\n.address_size 64\n" +
			".visible .entry k(.param .u64 a)\n" + c.directives +
			"\n{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [a];\n" +
			c.body + "ret;\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		dims, err := coarsen.Dimensions(m, "k")
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) ||
			dims != c.dims {
			t.Errorf("%s %s: %v, %v, want %v, %q", c.directives, c.body, dims, err, c.dims, c.why)
		}
	}
}

// TestCoarsenFalls: a text that ends behind a label, as cicc writes it for what is never reached,
// goes on nowhere in the rewritten one either.
func TestCoarsenFalls(t *testing.T) {
	text := []byte(`.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{
	.reg .pred %p<3>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<4>;
	ld.param.u32 %r1, [n];
	setp.eq.s32 %p1, %r1, 64;
	@%p1 bra $KNOWN;
	bra.uni $NEVER;
$KNOWN:
	ld.param.u64 %rd1, [a];
	mov.u32 %r2, %ctaid.x;
	setp.gt.s32 %p2, %r2, 63;
	@%p2 bra $END;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r2;
$END:
	ret;
$NEVER:

}
`)
	const end = "bra $gnvcc_jam_next;"
	r := mustRecipe(t, "coarsen=2x1x1")
	out, refused, err := Options{Coarse: map[string][3]int{"k": coarsen.Of(r)}}.apply(text,
		map[string]recipe.Recipe{"k": r})
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	if got := strings.TrimRight(string(out), "}\n\t "); !strings.HasSuffix(got, end) {
		t.Errorf("it ends with\n%s", got[max(0, len(got)-200):])
	}
	if !strings.Contains(string(out), "$NEVER:\n\tret;") {
		t.Errorf("what is never reached goes on:\n%s", out)
	}
	for _, kit := range ptxtest.Toolkits(t) {
		if _, err := kit.Assemble(t, out, "-arch=sm_80"); err != nil {
			t.Errorf("%s: %v", kit.Version, err)
		}
	}
}
