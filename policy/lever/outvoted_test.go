package lever

import (
	"slices"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/recipe"
)

// TestOutvoted: a recipe outvotes the hints that its terms take the place of, behind a bar too,
// and no others; a block's maximum is none.
func TestOutvoted(t *testing.T) {
	bounds, loop := "__launch_bounds__(..., 2)", "#pragma unroll of the loop in line 7"
	k := &policy.Kernel{MaxThreads: 256, Bounds: bounds, Loops: []lowered.Loop{{Site: "1", Kind: "for"},
		{Site: "2", Kind: "for", Pragma: true, Line: 7}}}
	for text, want := range map[string][]string{
		"maxnreg=64":                     {bounds},
		"spec{#1=4|maxnreg=64}":          {bounds},
		"unroll=4 unroll@1=8 hint@ld=cs": nil,
		"unroll@2=1":                     {loop},
		"spec{#1=4|unroll@2=1}":          {loop},
	} {
		r, err := recipe.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := Outvoted(k, r)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if got := Outvoted(&policy.Kernel{MaxThreads: 256}, r); got != nil {
			t.Errorf("%s: %q of a kernel without hints", text, got)
		}
	}
}
