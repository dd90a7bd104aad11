package policy

import (
	"testing"

	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
)

// TestHeldInOtherBlocks: a launch is for an entry in blocks of another size where these divide its
// threads, and where the host stub makes it.
func TestHeldInOtherBlocks(t *testing.T) {
	k := &Kernel{Name: "k"}
	r, err := recipe.Parse("shape=64x4x1 spec{host(block)=16x16x1,host(dynamic)=0}")
	if err != nil {
		t.Fatal(err)
	}
	two, err := recipe.Parse("spec{host(block)=16x16x1|shape=64x4x1} spec{host(block)=32x32x1|hint@ld=cs}")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		grid, block [3]int
		attributes  []string
		one, two    bool
	}{
		{[3]int{4, 4, 1}, [3]int{16, 16, 1}, nil, true, true},
		{[3]int{3, 4, 1}, [3]int{16, 16, 1}, nil, false, false},
		{[3]int{4, 4, 1}, [3]int{32, 8, 1}, nil, false, false},
		{[3]int{4, 40000, 1}, [3]int{16, 16, 1}, nil, false, false}, // 160000 blocks
		{[3]int{4, 4, 1}, [3]int{16, 16, 1}, []string{"cluster dimension"}, false, false},
		{[3]int{3, 4, 1}, [3]int{32, 32, 1}, nil, false, true},
		{[3]int{4, 4, 1}, [3]int{64, 4, 1}, nil, false, false},
	} {
		l := &profile.Launch{Shape: profile.Shape{Grid: c.grid, Block: c.block}, LaunchAttributes: c.attributes}
		if one, two := k.Held(r, l), k.Held(two, l); one != c.one || two != c.two {
			t.Errorf("%v x %v %v: %v and %v", c.grid, c.block, c.attributes, one, two)
		}
		if k.Broken(r, l) == c.one {
			t.Errorf("%v x %v: held and broken", c.grid, c.block)
		}
		if l.Past = true; k.Held(r, l) || k.Held(two, l) || !k.Broken(r, l) {
			t.Errorf("%v x %v: past the host stub nobody chooses an entry", c.grid, c.block)
		}
	}
}

// TestHeldInFewerBlocks: a launch is for an entry whose blocks do the work of several where these
// divide its grid.
func TestHeldInFewerBlocks(t *testing.T) {
	k := &Kernel{Name: "k"}
	r, err := recipe.Parse("coarsen=1x4x1 spec{host(block)=16x16x1,host(dynamic)=0}")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		grid, block [3]int
		attributes  []string
		held        bool
	}{
		{[3]int{3, 8, 1}, [3]int{16, 16, 1}, nil, true},
		{[3]int{3, 6, 1}, [3]int{16, 16, 1}, nil, false},
		{[3]int{8, 3, 1}, [3]int{16, 16, 1}, nil, false},
		{[3]int{3, 8, 1}, [3]int{32, 8, 1}, nil, false},
		{[3]int{3, 8, 1}, [3]int{16, 16, 1}, []string{"cluster dimension"}, false},
	} {
		l := &profile.Launch{Shape: profile.Shape{Grid: c.grid, Block: c.block}, LaunchAttributes: c.attributes}
		if k.Held(r, l) != c.held || k.Broken(r, l) == c.held {
			t.Errorf("%v x %v %v: %v, broken %v", c.grid, c.block, c.attributes, k.Held(r, l),
				k.Broken(r, l))
		}
	}
}
