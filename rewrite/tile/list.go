package tile

import (
	"fmt"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// A Tiling is a tile that a loop of a kernel can have.
type Tiling struct {
	Loop  int // tile@Loop=Turns
	Turns int
	Bytes int // of shared memory
}

// Tilings lists what can be tiled in a kernel that is launched with a block and so much dynamic
// shared memory, for each number of turns, and fits into what shared memory is left.
func Tilings(m *ptx.Module, kernel string, block [3]int, dynamic int, turns ...int) []Tiling {
	f := m.Entry(kernel)
	if f == nil || !f.Body {
		return nil
	}
	list, err := tilings(launched(m, f, block, dynamic), turns)
	if err != nil {
		return nil
	}
	return list
}

// Untiled says why nothing of a kernel can be tiled.
func Untiled(m *ptx.Module, kernel string, block [3]int, dynamic int) error {
	m = m.Clone()
	f := m.Entry(kernel)
	if f == nil || !f.Body {
		return nil
	}
	eight := recipe.Term{Lever: "tile", Value: "8"}
	if err := Apply(launched(m, f, block, dynamic), []recipe.Term{eight}); err != nil {
		return fmt.Errorf("%s: %w", eight, err)
	}
	return nil
}

// launched is a kernel with what its launch is known to be.
func launched(m *ptx.Module, f *ptx.Func, block [3]int, dynamic int) *pass.Kernel {
	return &pass.Kernel{Func: f, Module: m, Machine: pass.MachineOf(m), Options: pass.Options{
		Blocks:  map[string][3]int{f.Name: block},
		Dynamic: map[string]int{f.Name: dynamic}}}
}

func tilings(k *pass.Kernel, turns []int) (out []Tiling, err error) {
	t, err := flowOf(k)
	if err != nil {
		return nil, err
	}
	traits, err := k.Uses()
	if err != nil {
		return nil, err
	}
	room := tileRoom(traits.SharedStatic + k.Options.Dynamic[k.Name])
	if traits.SharedDynamic {
		room = room / pass.DynamicAlign * pass.DynamicAlign
	}
	for i, l := range t.Loops() {
		for _, n := range turns {
			x, err := planTile(&tileWriter{t: t}, l, n)
			if err != nil || x.bytes() > room {
				continue
			}
			out = append(out, Tiling{Loop: i, Turns: n, Bytes: x.bytes()})
		}
	}
	return out, nil
}
