package tile

import (
	"errors"
	"fmt"
	"strings"

	"gnvcc/graph"
	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
	"gnvcc/rewrite/recipe"
)

// Lever is the lever's name.
const Lever = "tile"

// tile=TURNS has the threads of a block copy what they read together in so many turns of a loop to
// shared memory, and read it there.
//
//	LOOP:                                    LOOP:    if the addresses of all threads are as expected:
//	ld.global.nc.f32 %f1, [%rd4];            CHECK:   if TURNS turns or more are left:
//	fma.rn.f32 %f2, %f1, %f1, %f2;                    barrier; copy the box, in rows; barrier
//	add.s64 %rd4, %rd4, 4;                   TURN:    ld.shared.f32 %f1, [%gnvcc_tr8+0]; ...
//	...                                               TURNS times; then, if the loop goes on, CHECK
//	@%p1 bra LOOP;                           PLAIN:   else, for what is left, the loop as it was
//
// tile@N=TURNS is for the kernel's N-th loop in the order of the text, from 0; without a number it
// is for all loops that can be tiled. Copied is every box that is read more than once, or whose
// elements neighbouring threads do not read side by side. TURNS is a number from 2 to 256.
//
// Allowed where the block is known (a second entry; .reqntid): what is read is listed to the last
// element. The loop is one block, as cicc leaves the inner loops of products of matrices, stencils
// and sums; a 32- or 64-bit counter ends it. The loads are .nc, so that nobody writes what they
// read, or plain ones where the kernel has written nothing by the loop's end; their 64-bit addresses
// move by the same in every turn (loop.go). Their distances are linear in the thread's place, with at
// most one pitch that is not a constant (box.go). All threads of the block come to the loop and make as
// many turns; where a thread may have left in front of it (`if (i >= n) return;`), that is asked at
// run time, once. Not behind atomics and other accesses by which threads wait for each other; not with
// calls, barriers for parts of a block, clusters, grid-wide barriers.
//
// Safe: how addresses depend on the thread's place is only expected; each time that the loop is
// entered, every thread compares its own addresses with the expected ones, and if one differs the
// loop runs as it was. So the copied addresses are some that threads of the block would have read in
// these very turns. The instructions are the same on the same values. Exact as checked only: ptxas
// contracts multiplications and additions by itself, and sees the body twice.
//
// From: Han, Abdelrahman, Automatic Tuning of Local Memory Use on GPGPUs, section 2.
func Apply(k *pass.Kernel, terms []recipe.Term) error {
	t, err := flowOf(k)
	if err != nil {
		return err
	}
	const all = -1
	wanted := map[int]int{} // turns, by loop
	for _, term := range terms {
		if term.Brace {
			return errors.New("it takes no braces")
		}
		n := all
		if term.Site != "" {
			if n, err = recipe.Number(term.Site, 0, 1<<20); err != nil {
				return fmt.Errorf("site: %w", err)
			}
			if n >= len(t.Loops()) {
				return fmt.Errorf("there is no loop @%d: the kernel has %d", n, len(t.Loops()))
			}
		}
		if wanted[n], err = recipe.Number(term.Value, 2, mostTurns); err != nil {
			return fmt.Errorf("the number of turns: %w", err)
		}
	}
	why := errors.New("the kernel has no loop")
	var texts []*tileText
	for i, l := range t.Loops() {
		turns, named := wanted[i]
		if !named {
			turns = wanted[all]
		}
		if turns == 0 {
			continue
		}
		x, err := planTile(t, l, turns)
		if err != nil {
			if why = fmt.Errorf("loop @%d can't be tiled: %w", i, err); named {
				return why
			}
			continue
		}
		x.number = i
		texts = append(texts, x)
	}
	if len(texts) == 0 {
		return why
	}
	writeTiles(k, t, texts)
	return nil
}

// A tileFlow is what is known of one kernel.
type tileFlow struct {
	*ir.Func
	block [3]int            // the block that it is launched with
	named map[string]ir.Reg // its registers
	room  int               // bytes of shared memory
	unit  int               // what is taken is a multiple of so many bytes
}

// flowOf looks at what must hold of a kernel whatever its loops are.
func flowOf(k *pass.Kernel) (*tileFlow, error) {
	k.Forget() // an earlier pass may have taken shared memory
	if err := k.OwnArray(tilePrefix, tileArray, tileLabel); err != nil {
		return nil, err
	}
	if err := k.Machine.Needs("a barrier to which threads come one by one", 60, 70); err != nil {
		return nil, err
	}
	u, err := k.Uses()
	if err != nil {
		return nil, err
	}
	block := pass.BlockOf(k).Exact
	switch {
	case block[0] == 0:
		return nil, errors.New("the block is not known: it is for a second entry, chosen by host(block)")
	case u.Calls:
		return nil, errors.New("the kernel has calls")
	}
	w, err := ir.Of(k.Func)
	if err != nil {
		return nil, err
	}
	t := &tileFlow{Func: w, block: block, named: map[string]ir.Reg{}, unit: 16}
	for r := range ir.Reg(w.Registers()) {
		name, _, _ := strings.Cut(w.Name(r), "'")
		if _, twice := t.named[name]; twice {
			return nil, fmt.Errorf("register %s is declared in several scopes", name)
		}
		t.named[name] = r
	}
	if u.SharedDynamic {
		t.unit = pass.DynamicAlign
	}
	t.room = pass.RoomBeside(u.SharedStatic+k.Options.Dynamic[k.Name]) / t.unit * t.unit
	return t, nil
}

// mostTurns is the largest number of turns of a tile.
const mostTurns = 256

// planTile works out what is to be copied for a loop.
func planTile(t *tileFlow, l graph.Loop, turns int) (*tileText, error) {
	n, err := newTileLoop(t, l)
	if err != nil {
		return nil, err
	}
	groups, err := n.groups(turns)
	if err != nil {
		return nil, err
	}
	x := &tileText{t: t, n: n, turns: turns, groups: groups}
	const most = 8
	if len(groups) > most {
		return nil, errors.New("it loads too many boxes")
	}
	at := 8 * most // in front: thread 0's start of each box; never where another loop's boxes are, still read
	for _, g := range groups {
		x.offset = append(x.offset, at)
		at = pass.RoundUp(at+g.rows*g.stride(), 16)
	}
	if x.bytes = at; x.bytes > t.room {
		return nil, fmt.Errorf("it takes %d bytes of shared memory; there is room for %d", x.bytes, t.room)
	}
	return x, nil
}

// A Tiling is a tile that a loop of a kernel can have.
type Tiling struct {
	Loop  int // tile@Loop=Turns
	Turns int
}

// Tilings lists what can be tiled in a kernel that is launched with a block and so much dynamic
// shared memory, for each number of turns, and fits into what shared memory is left; or says why
// nothing can.
func Tilings(m *ptx.Module, kernel string, block [3]int, dynamic int, turns ...int) (out []Tiling, err error) {
	f := m.Entry(kernel)
	if f == nil || !f.Body {
		return nil, errors.New("there is no such kernel")
	}
	t, err := flowOf(&pass.Kernel{Func: f, Module: m, Machine: pass.MachineOf(m), Options: pass.Options{
		Blocks:  map[string][3]int{f.Name: block},
		Dynamic: map[string]int{f.Name: dynamic}}})
	if err != nil {
		return nil, err
	}
	err = errors.New("the kernel has no loop")
	for i, l := range t.Loops() {
		for _, n := range turns {
			if _, why := planTile(t, l, n); why != nil {
				err = fmt.Errorf("loop @%d can't be tiled: %w", i, why)
				continue
			}
			out = append(out, Tiling{Loop: i, Turns: n})
		}
	}
	if len(out) > 0 {
		err = nil
	}
	return out, err
}
