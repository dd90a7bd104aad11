package lever

import (
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/tile"
)

// TestTileForest: the forest that the lever carries is one of this program's features; it tells
// scattered loads, which pay, from such as don't; on a GPU that it does not know all is tried.
func TestTileForest(t *testing.T) {
	if tileForest() == nil {
		t.Fatal("the forest can't be read: make it anew (bench/predict)")
	}
	// each lane reads a row of its own, of which it uses all; lanes read side by side
	rows := tile.Tiling{Loop: 0, Turns: 32, Bytes: 16896, Boxes: []tile.Box{{Reuse: 1,
		Bytes: 16896, Sectors: 32, Loads: 1, Operations: [2]int{5, 3}, Aligned: [2]int{0, 3}}}}
	beside := tile.Tiling{Loop: 1, Turns: 8, Bytes: 2048, Boxes: []tile.Box{{Reuse: 2,
		Bytes: 2048, Sectors: 4, Loads: 1, Operations: [2]int{5, 18}, Aligned: [2]int{1, 1},
		Scattered: [2]int{0, 2}}}}
	k := &policy.Kernel{Name: "k", Tilings: func([3]int, int, ...int) []tile.Tiling {
		return []tile.Tiling{rows, beside}
	}}
	k.Default.Registers = 32
	o := policy.Defaults()
	o.Device = tileDevice
	sit := &Situation{Kernel: k, Options: &o, Shape: policy.Shape{Grid: [3]int{2048, 1, 1},
		Block: [3]int{128, 1, 1}}, Values: valuesOf(t, policy.HostValue,
		"host(block)=128x1x1,host(dynamic)=0")}
	good, known := predictedTile(sit, &rows)
	bad, _ := predictedTile(sit, &beside)
	t.Logf("rows of their own %.2f, side by side %.2f", good, bad)
	if !known || good < 1.5 || bad >= good || bad >= hopeless {
		t.Errorf("predicted %.2f and %.2f", good, bad)
	}
	if list := Named("tile").Try(sit); len(list) != 1 || !rewrite.Uses(list[0], "tile") {
		t.Errorf("tried: %v", list)
	}
	o.Device = "another GPU"
	if list := Named("tile").Try(sit); len(list) != 2 {
		t.Errorf("tried on another GPU: %v", list)
	}
}
