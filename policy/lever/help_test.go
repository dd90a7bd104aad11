package lever

import (
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/recipe"
)

func shape(grid, block int) policy.Shape {
	return policy.Shape{Grid: [3]int{grid, 1, 1}, Block: [3]int{block, 1, 1}}
}

// valuesOf are values as conditions have them.
func valuesOf(t testing.TB, kind policy.ValueKind, text string) []policy.Value {
	t.Helper()
	g, err := recipe.ParseGuard(text)
	if err != nil {
		t.Fatal(err)
	}
	var out []policy.Value
	for _, c := range g.Conditions {
		out = append(out, policy.Value{Name: c.Key(), Kind: kind, Is: c})
	}
	return out
}

// sources gives a kernel loops and a scalar n.
func sources(k policy.Kernel) policy.Kernel {
	k.Loops = []lowered.Loop{{Site: "2", Kind: "for", Line: 17, Inner: true}, {Site: "1", Kind: "for",
		Line: 12}}
	k.Values = []lowered.Value{
		{Name: "a", Argument: 0, Bits: 64, Class: lowered.Pointer},
		{Name: "n", Type: "int", Argument: 1, Bits: 32, Class: lowered.Integer},
	}
	k.Reads = []string{"blockDim.x"}
	return k
}
