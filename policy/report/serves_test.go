package report

import (
	"testing"

	"gnvcc/cache"
)

// TestServes: a recipe for some grids alone is named by its launches' integers.
func TestServes(t *testing.T) {
	for recipe, want := range map[string]string{
		"unroll=4":               "",
		"spec{#1=64} unroll=4":   "",
		"spec{host(grid)=8x1x1}": "the grid and block of a checked launch",
		"spec{#1=64,host(grid)=8x1x1,host(#2+8:8)=-3} unroll=4":                        "n=64, #2+8=-3",
		"spec{host(grid)=8x1x1,host(#1:4)=64} spec{host(grid)=9x1x1,host(#1:4)=64}":    "n=64",
		"spec{host(grid)=8x1x1,host(#1:4)=64} spec{host(grid)=8x1x1,host(#1:4)=65}":    "n=64 or n=65",
		"spec{host(grid)=8x1x1,host(#1:4)=64} spec{host(block)=8x1x1,host(#1:4)=65}":   "",
		"spec{gridDim.x=8,gridDim.y=1,gridDim.z=1,host(block)=32x1x1,host(#1:4)=1024}": "n=1024",
	} {
		d := &cache.Decision{Recipe: recipe}
		d.Evidence.Names = map[string]string{"#1": "n"}
		if got := serves(d); got != want {
			t.Errorf("%s: %q, want %q", recipe, got, want)
		}
	}
}
