package policy

import (
	"testing"

	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/source"
)

// TestConfinedRecipe: all integer arguments are named, floats and pointers are not; where an
// argument's type is not known nothing is.
func TestConfinedRecipe(t *testing.T) {
	k := &Kernel{Values: []source.Value{{Name: "p", Bits: 64, Class: source.Pointer},
		{Name: "n", Type: "int", Argument: 1, Bits: 32, Class: source.Integer},
		{Name: "a", Type: "float", Argument: 2, Bits: 32, Class: source.Float},
		{Argument: 3, Offset: 2, Bits: 8, Class: source.Integer, Why: "it has no name"}}}
	l := &profile.Launch{Grid: [3]int{8, 1, 1}, Block: [3]int{32, 1, 1}, Params: []profile.Param{
		{Value: make([]byte, 8)}, {Value: []byte{7, 0, 0, 0}}, {Value: make([]byte, 4)},
		{Value: []byte{1, 2, 0xff, 4}}}}
	r, _ := recipe.Parse("spec{#1=7} unroll=2")
	got, err := k.Confined(r, l)
	if err != nil || got.String() !=
		"spec{#1=7,host(grid)=8x1x1,host(block)=32x1x1,host(dynamic)=0,host(#3+2:1)=-1} unroll=2" {
		t.Fatalf("%s, %v", got, err)
	}
	if k.IsConfined(r) || !k.IsConfined(got) {
		t.Error("it is not told which one is for launches like one alone")
	}
	r, _ = recipe.Parse("spec{#1=8}")
	if got, err := k.Confined(r, l); err == nil {
		t.Errorf("%s for n = 7", got)
	}
	k.Values[3].Class = source.Unknown
	if _, err := k.Confined(recipe.Recipe{}, l); err == nil || k.IsConfined(got) {
		t.Error("an argument of an unknown type is taken for no integer")
	}
}
