package main

import (
	"testing"

	"gnvcc/rewrite"
)

// TestRecipes: what is tried of a kernel acts on its source, each once, and values are for its last
// integer.
func TestRecipes(t *testing.T) {
	for _, c := range []struct {
		signature []string
		count     int
		last      string
	}{{nil, 8, "spec{blockDim.x=256,blockDim.y=1,blockDim.z=1}"},
		{[]string{"u64", "f32"}, 8, "spec{blockDim.x=256,blockDim.y=1,blockDim.z=1}"},
		{[]string{"u32", "u32", "u64"}, 10, "spec{#1=64} unroll=8"}} {
		list := recipes(c.signature)
		seen := map[string]bool{}
		for _, r := range list {
			if err := rewrite.Check(r); err != nil || rewrite.At(r, rewrite.Source).IsDefault() {
				t.Errorf("%s: %v", r, err)
			}
			seen[r.String()] = true
		}
		if len(seen) != c.count || list[len(list)-1].String() != c.last {
			t.Errorf("%v: %d recipes, the last %s", c.signature, len(seen), list[len(list)-1])
		}
	}
}
