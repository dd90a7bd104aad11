package rewrite

import (
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
)

// shape is for second entries that are chosen by the launch's block, and for nothing else.
func TestShape(t *testing.T) {
	for text, want := range map[string][3]int{
		"spec{host(block)=256x1x1} shape=128x1x1":                                  {128, 1, 1},
		"spec{host(block)=16x16x1,host(dynamic)=0} shape=64x4x1 throttle=3":        {64, 4, 1},
		"maxnreg=64 spec{#1=3,host(block)=256x1x1} shape=32x1x1":                   {32, 1, 1},
		"spec{host(block)=256x1x1|shape=64x1x1} spec{host(block)=64x1x1}":          {},
		"spec{host(block)=256x1x1}":                                                {},
		"spec{host(block)=8x8x8,host(dynamic)=0} hint@ld=cs shape=64x1x8 unroll=2": {64, 1, 8},
		"spec{align(#0)=16,host(block)=256x1x1,host(grid)=4x1x1} shape=512x1x1":    {512, 1, 1},
	} {
		r := mustRecipe(t, text)
		if err := Check(r); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := Shape(r); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, bad := range []string{"shape=128x1x1", "spec{host(dynamic)=0} shape=128x1x1",
		"spec{#1=1} shape=128x1x1", "spec{blockDim.x=256} shape=128x1x1",
		"spec{host(block)=256x1x1} shape=128", "spec{host(block)=256x1x1} shape=0x1x1",
		"spec{host(block)=256x1x1} shape=2048x1x1",
		"spec{host(block)=256x1x1} shape=512x4x1", "spec{host(block)=256x1x1} shape=1x1x128",
		"spec{host(block)=256x1x1} shape=256x1x1",
		"spec{blockDim.x=256,host(block)=256x1x1} shape=128x1x1",
		"spec{gridDim.x=8,host(block)=256x1x1} shape=128x1x1",
		"spec{host(block)=256x1x1|shape=256x1x1} spec{host(block)=64x1x1}", "spec{#1=1} shape=128x1x1",
		"spec{host(block)=256x1x1} shape@1=128x1x1"} {
		if err := Check(mustRecipe(t, bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	for text, want := range map[string]Exactness{
		"spec{host(block)=256x1x1} shape=128x1x1":             ByConstruction,
		"spec{host(block)=32x8x1} shape=64x4x1":               ByConstruction,
		"maxnreg=40 spec{host(block)=256x1x1} shape=1024x1x1": ByConstruction,
		// other warps
		"spec{host(block)=16x16x1} shape=64x4x1":                                                     Checked,
		"spec{host(block)=32x8x1} shape=16x16x1":                                                     Checked,
		"spec{host(block)=100x1x1} shape=50x1x1":                                                     Checked,
		"spec{host(block)=256x1x1|shape=128x1x1} spec{host(block)=64x1x1|shape=32x1x1}":              ByConstruction,
		"spec{host(block)=256x1x1|shape=128x1x1} spec{host(block)=16x16x1|shape=32x8x1}":             Checked,
		"shape=128x1x1 spec{host(block)=256x1x1,host(dynamic)=0} spec{host(block)=16x16x1}":          Checked,
		"spec{host(block)=256x1x1} shape=128x1x1 unroll=2":                                           Checked,
		"spec{host(block)=256x1x1,#0=7} shape=128x1x1":                                               Checked,
		"approx=div spec{host(block)=256x1x1} shape=128x1x1":                                         Approximate,
		"bypass=2 spec{host(block)=256x1x1} shape=128x1x1":                                           Checked,
		"spec{host(block)=256x1x1,host(dynamic)=0|hint@ld=cs shape=128x1x1} spec{host(block)=8x8x1}": ByConstruction,
	} {
		if got := ExactnessOf(mustRecipe(t, text)); got != want {
			t.Errorf("%s is exact as %s, want %s", text, got, want)
		}
	}
}

// Who may be launched in other blocks.
func TestShapeable(t *testing.T) {
	const index = "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r1, %r2, %r3;\nst.global.u32 [%rd1], %r4;\n"
	for _, c := range []struct{ directives, body, why string }{
		{"", index, ""},
		{".maxntid 256, 1, 1", index, ""},
		{".maxnreg 64", index, ""},
		{".reqntid 256, 1, 1", index, ".reqntid"},
		{".maxntid 256, 1, 1\n.minnctapersm 2", index, ""},
		{".reqnctapercluster 2, 1, 1", index, "cluster"},
		{".explicitcluster", index, "cluster"},
		{".maxclusterrank 4", index, "cluster"},
		{"", index + "st.global.u32 [%rd1], %r3;\n", "launch shape"},
		{"", index + "bar.sync 0;\n", "launch shape"},
		{"", index + "L:\nld.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra L;\n", "wait"},
	} {
		m, err := ptx.Parse([]byte(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n" + c.directives +
			"\n{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [a];\n" + c.body + "ret;\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		err = Shapeable(m, "k")
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s %s: %v, want %q", c.directives, c.body, err, c.why)
		}
	}
	m, _ := ptx.Parse([]byte(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n.maxntid 512, 1, 1\n{\nret;\n}\n"))
	for block, registers := range map[[3]int]int{{512, 1, 1}: 80, {64, 8, 1}: 128, {256, 1, 1}: 255} {
		if err := Takes(m.Entry("k"), registers, block); err != nil {
			t.Error(err)
		}
	}
	for block, registers := range map[[3]int]int{{1024, 1, 1}: 32, {512, 1, 1}: 200,
		{512, 1, 1 + 1}: 16, {32, 1, 1}: 0} {
		if Takes(m.Entry("k"), registers, block) == nil {
			t.Errorf("blocks of %v with %d registers are taken", block, registers)
		}
	}
}
