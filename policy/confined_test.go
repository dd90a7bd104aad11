package policy

import (
	"testing"

	"gnvcc/policy/check"
	"gnvcc/profile"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// TestConfinedRecipe: all integer arguments are named, floats and pointers are not; where an
// argument's type is not known nothing is.
func TestConfinedRecipe(t *testing.T) {
	k := &Kernel{Values: []lowered.Value{{Name: "p", Bits: 64, Class: lowered.Pointer},
		{Name: "n", Type: "int", Argument: 1, Bits: 32, Class: lowered.Integer},
		{Name: "a", Type: "float", Argument: 2, Bits: 32, Class: lowered.Float},
		{Argument: 3, Offset: 2, Bits: 8, Class: lowered.Integer, Why: "it has no name"}}}
	l := &profile.Launch{Shape: profile.Shape{Grid: [3]int{8, 1, 1}, Block: [3]int{32, 1, 1}}, Params: []profile.Param{
		{Value: make([]byte, 8)}, {Value: []byte{7, 0, 0, 0}}, {Value: make([]byte, 4)},
		{Value: []byte{1, 2, 0xff, 4}}}}
	r, _ := recipe.Parse("spec{#1=7} unroll=2")
	got, err := k.Confined(r, l, check.Coverage{})
	if err != nil || got.String() !=
		"spec{#1=7,host(grid)=8x1x1,host(block)=32x1x1,host(dynamic)=0,host(#3+2:1)=-1} unroll=2" {
		t.Fatalf("%s, %v", got, err)
	}
	if k.IsConfined(r, check.Coverage{}) || !k.IsConfined(got, check.Coverage{}) {
		t.Error("it is not told which one is for launches like one alone")
	}
	// where all ran, only what decides where something lies
	for pins, want := range map[[3]int]string{
		{1, 0, 4}:           "spec{#1=7} unroll=2",
		{3, 2, 1}:           "spec{#1=7,host(#3+2:1)=-1} unroll=2",
		{3, 0, 1}:           "spec{#1=7} unroll=2",
		{check.Block, 0, 0}: "spec{#1=7,host(block)=32x1x1} unroll=2",
		{check.Grid, 0, 0}:  "spec{#1=7,host(grid)=8x1x1} unroll=2",
	} {
		c := check.Coverage{Counted: true, Pins: [][3]int{pins}}
		got, err := k.Confined(r, l, c)
		if err != nil || got.String() != want || !k.IsConfined(got, c) || k.IsConfined(r, c) != (want == r.String()) {
			t.Errorf("%v: %s, %v", pins, got, err)
		}
	}
	if !k.IsConfined(recipe.Recipe{}, check.Coverage{Counted: true}) {
		t.Error("what ran as a whole is confined")
	}
	r, _ = recipe.Parse("spec{#1=8}")
	if got, err := k.Confined(r, l, check.Coverage{}); err == nil {
		t.Errorf("%s for n = 7", got)
	}
	k.Values[3].Class = lowered.Unknown
	if _, err := k.Confined(recipe.Recipe{}, l, check.Coverage{}); err == nil || k.IsConfined(got, check.Coverage{}) {
		t.Error("an argument of an unknown type is taken for no integer")
	}
}

// TestConfinedByDecision: a floating-point argument that decides what runs is named, too; where an
// address does there is no such recipe.
func TestConfinedByDecision(t *testing.T) {
	decided := func(condition string) check.Arguments {
		m, err := ptx.Parse([]byte(`.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_0, .param .f32 k_1)
{
	.reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .pred %p<3>;
	ld.param.u64 %rd1, [k_0];
	ld.param.f32 %f1, [k_1];
	ld.global.f32 %f2, [%rd1];
	` + condition + `
	@%p1 ret;
	fma.rn.f32 %f2, %f1, %f2, %f2;
	st.global.f32 [%rd1], %f2;
	ret;
}
`))
		if err != nil {
			t.Fatal(err)
		}
		return check.ArgumentsOf(m.Entry("k"))
	}
	k := &Kernel{Values: []lowered.Value{{Name: "p", Bits: 64, Class: lowered.Pointer},
		{Name: "a", Type: "float", Argument: 1, Bits: 32, Class: lowered.Float}}}
	l := &profile.Launch{Shape: profile.Shape{Grid: [3]int{8, 1, 1}, Block: [3]int{32, 1, 1}}, Params: []profile.Param{
		{Value: make([]byte, 8)}, {Value: []byte{0, 0, 0x80, 0x3f}}}}
	r, _ := recipe.Parse("unroll=2")
	host := "spec{host(grid)=8x1x1,host(block)=32x1x1,host(dynamic)=0"
	for condition, want := range map[string]string{
		"setp.gt.f32 %p1, %f2, 0f00000000;":                 host + "} unroll=2",
		"setp.gt.f32 %p1, %f2, %f1;":                        host + "} unroll=2", // memory decides with it
		"setp.eq.f32 %p1, %f1, 0f00000000;":                 host + ",host(#1:4)=1065353216} unroll=2",
		"setp.eq.s64 %p1, %rd1, 0;":                         "",
		"and.b64 %rd2, %rd1, 15; setp.eq.s64 %p1, %rd2, 0;": "",
	} {
		k.Decided = check.Arguments{}
		loose, _ := k.Confined(r, l, check.Coverage{})
		k.Decided = decided(condition)
		got, err := k.Confined(r, l, check.Coverage{})
		if want == "" && err == nil || want != "" && (err != nil || got.String() != want) {
			t.Errorf("%s: %s, %v", condition, got, err)
		}
		if k.IsConfined(loose, check.Coverage{}) != (want == loose.String()) {
			t.Errorf("%s: is %s for launches like one alone: %v", condition, loose, k.IsConfined(loose, check.Coverage{}))
		}
	}
}

// TestConfinedHidden: what the source does not name, an array's element, a private field, is compared
// by its bytes; where an argument's address is taken there is no such recipe.
func TestConfinedHidden(t *testing.T) {
	for read, want := range map[string]string{
		"ld.param.u32 %r1, [k_1];":                       "",
		"ld.param.u32 %r1, [k_1+4];":                     ",host(#1+4:4)=-2",
		"ld.param.v2.u32 {%r1, %r2}, [k_1];":             ",host(#1:8)=-8589934585",
		"ld.param.s8 %r1, [k_1+9];":                      ",host(#1+9:1)=9",
		"mov.b64 %rd2, k_1; ld.param.u32 %r1, [%rd2+4];": "no",
	} {
		m, err := ptx.Parse([]byte(`.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_0, .param .align 4 .b8 k_1[12])
{
	.reg .b64 %rd<4>; .reg .b32 %r<4>;
	ld.param.u64 %rd1, [k_0];
	` + read + `
	st.global.u32 [%rd1], %r1;
	ret;
}
`))
		if err != nil {
			t.Fatal(err)
		}
		k := &Kernel{Decided: check.ArgumentsOf(m.Entry("k")), Values: []lowered.Value{
			{Name: "p", Bits: 64, Class: lowered.Pointer},
			{Name: "s.n", Type: "int", Argument: 1, Bits: 32, Class: lowered.Integer}}}
		before := *k
		k.addHidden()
		l := &profile.Launch{Shape: profile.Shape{Grid: [3]int{8, 1, 1}, Block: [3]int{32, 1, 1}}, Params: []profile.Param{
			{Value: make([]byte, 8)}, {Value: []byte{7, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0, 9, 0, 0}}}}
		r, _ := recipe.Parse("unroll=2")
		got, err := k.Confined(r, l, check.Coverage{})
		host := "spec{host(grid)=8x1x1,host(block)=32x1x1,host(dynamic)=0,host(#1:4)=7"
		if want == "no" && err == nil || want != "no" && (err != nil || got.String() != host+want+"} unroll=2") {
			t.Errorf("%s: %s, %v", read, got, err)
		}
		if loose, _ := before.Confined(r, l, check.Coverage{}); k.IsConfined(loose, check.Coverage{}) != (want == "") || err == nil && !k.IsConfined(got, check.Coverage{}) {
			t.Errorf("%s: it is not told what is for launches like one alone", read)
		}
	}
}
