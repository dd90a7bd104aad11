package tile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gnvcc/graph"
	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// tile=TURNS has the threads of a block copy what they read together in so many turns of a loop to
// shared memory, and read it there.
//
//	LOOP:                                    LOOP:    if TURNS turns or more are left, of all threads:
//	ld.global.nc.f32 %f1, [%rd4];                     barrier; copy the box, in rows; barrier
//	fma.rn.f32 %f2, %f1, %f1, %f2;           TILED:   ld.shared.f32 %f1, [%gnvcc_tr8+0]; ...
//	add.s64 %rd4, %rd4, 4;                            TURNS times; then, if the loop goes on, LOOP
//	...                                               else, for what is left, the loop as it was
//	@%p1 bra LOOP;
//
// tile@N=TURNS is for the kernel's N-th loop in the order of the text, from 0; without a number it
// is for all loops that can be tiled. Copied is every box that is read more than once, or whose
// elements a warp does not read side by side. TURNS is a number from 2 to 256.
//
// Allowed where the block is known (a second entry; .reqntid): what is read is listed to the last
// element. The loads run once in each turn, with addresses that are linear in the thread's place
// and in the turn (loop.go, box.go): 32-bit arithmetic in them is checked at run time not
// to wrap. All threads of the block come to the loop and make as many turns (flow.go); where a
// thread may have left in front of it, that is asked at run time. Plain loads with a store to
// global memory in the loop are left alone, so that only what .nc promises is relied on. Not behind
// atomics and other accesses by which threads wait for each other; not with calls, barriers for
// parts of a block, clusters, grid-wide barriers.
//
// Safe: the copied addresses are some that threads of the block would have read in these very
// turns; whatever can't be shown in front of a tile leaves the loop as it was, for the rest of its
// turns. The instructions are the same on the same values. Exact as checked only: ptxas contracts
// multiplications and additions by itself, and sees the body twice.
//
// From: Han, Abdelrahman, Automatic Tuning of Local Memory Use on GPGPUs, section 2.
func Apply(k *pass.Kernel, terms []recipe.Term) error {
	t, err := flowOf(k)
	if err != nil {
		return err
	}
	w := &tileWriter{t: t}
	var texts []*tileText
	taken := map[int]bool{}
	slices.SortStableFunc(terms, func(a, b recipe.Term) int { // loops that are named come first
		return strings.Compare(b.Site, a.Site)
	})
	for _, term := range terms {
		if term.Brace {
			return errors.New("it takes no braces")
		}
		turns, err := recipe.Number(term.Value, 2, mostTurns)
		if err != nil {
			return fmt.Errorf("the number of turns: %w", err)
		}
		loops := t.Loops()
		if term.Site != "" {
			n, err := recipe.Number(term.Site, 0, 1<<20)
			if err != nil {
				return fmt.Errorf("site: %w", err)
			}
			if n >= len(loops) {
				return fmt.Errorf("there is no loop @%d: the kernel has %d", n, len(loops))
			}
			loops = loops[n : n+1]
		}
		var why error
		found := false
		for _, l := range loops {
			if taken[l.Head] {
				continue
			}
			x, err := planTile(w, l, turns)
			if err != nil {
				why = err
				continue
			}
			x.number = slices.IndexFunc(t.Loops(), func(o graph.Loop) bool { return o.Head == l.Head })
			texts, found = append(texts, x), true
			taken[l.Head] = true
		}
		switch {
		case found:
		case len(loops) == 0:
			return errors.New("the kernel has no loop")
		case term.Site == "" && len(t.Loops()) > 1:
			return fmt.Errorf("no loop can be tiled; of the last one: %w", why)
		default:
			return fmt.Errorf("the loop can't be tiled: %w", why)
		}
	}
	return writeTiles(k, w, texts)
}

// flowOf looks at what must hold of a kernel whatever its loops are.
func flowOf(k *pass.Kernel) (*tileFlow, error) {
	k.Forget() // an earlier pass may have taken shared memory
	t, err := k.Uses()
	if err != nil {
		return nil, err
	}
	if err := k.TakesShared(); err != nil {
		return nil, err
	}
	if err := k.Machine.Needs("a barrier to which threads come one by one", 60, 70); err != nil {
		return nil, err
	}
	block := pass.BlockOf(k).Exact
	switch {
	case block[0] == 0:
		return nil, errors.New(
			"the block is not known: it is for a second entry, chosen by host(block)")
	case strings.Contains(string(k.Text()), tilePrefix) ||
		strings.Contains(string(k.Text()), tileLabel):
		return nil, fmt.Errorf("the kernel has names with %s or %s already", tilePrefix, tileLabel)
	case slices.Contains(k.Module.Target, "debug"):
		return nil, errors.New("the kernel is built for debugging (-G)")
	case t.Calls:
		return nil, errors.New("the kernel has calls")
	case t.SharedDynamic && pass.ReadsSharedSize(k.Text()):
		return nil, errors.New("the kernel reads how much shared memory it has")
	case t.SetMaxNReg:
		return nil, errors.New("the kernel moves registers between warps (setmaxnreg)")
	case t.Cluster || t.GridSync:
		return nil, errors.New(
			"the kernel builds on how many blocks are resident at once (clusters, grid-wide barriers)")
	}
	flow, err := newTileFlow(k.Func, block)
	if err != nil {
		return nil, err
	}
	return flow, followed(flow.Func)
}

// mostTurns is the largest number of turns of a tile.
const mostTurns = 256

// planTile works out what is to be copied for a loop.
func planTile(w *tileWriter, l graph.Loop, turns int) (*tileText, error) {
	n, err := newTileLoop(w.t, l)
	if err != nil {
		return nil, err
	}
	if op := w.t.mayWait(l.Head); op != "" {
		return nil, fmt.Errorf("a thread may wait for another one in front of it (%s)", op)
	}
	list, why := n.loads()
	if why != nil {
		return nil, why
	}
	test, err := n.turnTest(turns)
	if err != nil {
		return nil, err
	}
	groups, why := n.groups(list, turns)
	groups = slices.DeleteFunc(groups, func(g *tileGroup) bool { return !g.worthwhile(w.t.block, turns) })
	if len(groups) == 0 {
		return nil, cmp.Or(why, errors.New("what it loads is read once, side by side"))
	}
	x := &tileText{tileWriter: w, n: n, turns: turns, groups: groups, test: test, checks: test.checks}
	at := 0
	for _, g := range groups {
		g.choosePad(w.t.block)
		at = pass.RoundUp(at, 16)
		x.offset = append(x.offset, at)
		at += g.bytes()
		for _, c := range g.checks {
			if !slices.ContainsFunc(x.checks, func(o widening) bool { return o.String() == c.String() }) {
				x.checks = append(x.checks, c)
			}
		}
	}
	for _, c := range x.checks {
		for _, name := range notUniform {
			if s, ok := c.value.Slope(name); !ok || !uniform(s) {
				return nil, errors.New("no load has an address that is affine in thread, block and turn")
			}
		}
	}
	return x, nil
}

// worthwhile reports boxes that are read more than once, or not side by side.
func (g *tileGroup) worthwhile(block [3]int, turns int) bool {
	return 2*g.accesses(block, turns) >= 3*g.elements() || g.sectors(block) > float64(g.width)
}

// sectors is how many sectors of 32 bytes a warp's first load touches, if the first of them begins
// where a sector does.
func (g *tileGroup) sectors(block [3]int) float64 {
	n, least := min(pass.Warp, pass.Threads(block)), 0
	var lanes []slopeOf
	for lane := range n {
		x, y, z := lane%block[0], lane/block[0]%block[1], lane/block[0]/block[1]
		lanes = append(lanes, slopeOf{x*g.place[0].row + y*g.place[1].row + z*g.place[2].row,
			x*g.place[0].column + y*g.place[1].column + z*g.place[2].column})
		least = min(least, lanes[lane].column)
	}
	seen := map[slopeOf]bool{}
	for _, l := range lanes {
		seen[slopeOf{l.row, (l.column - least) / 32}] = true
	}
	return float64(len(seen)) * pass.Warp / float64(n)
}

// bytes is what a loop's tile takes of shared memory.
func (x *tileText) bytes() int {
	last := len(x.groups) - 1
	return pass.RoundUp(x.offset[last]+x.groups[last].bytes(), 16)
}

// writeTiles notes the edits of all loops.
func writeTiles(k *pass.Kernel, w *tileWriter, texts []*tileText) error {
	t, err := k.Uses()
	if err != nil {
		return err
	}
	bytes := 0
	for _, x := range texts {
		bytes = max(bytes, x.bytes())
	}
	if t.SharedDynamic {
		bytes = pass.RoundUp(bytes, pass.DynamicAlign)
	}
	own := t.SharedStatic + k.Options.Dynamic[k.Name]
	if room := tileRoom(own); bytes > room {
		return fmt.Errorf("it takes %d bytes; beside the kernel's own %d there is room for %d", bytes, own,
			room)
	}
	k.Forget()
	var asked []int
	for _, x := range texts {
		for _, p := range x.n.asked {
			if w.asked = tilePrefix + "o"; !slices.Contains(asked, p.stmt) {
				asked = append(asked, p.stmt)
			}
		}
	}
	for _, x := range texts {
		x.write()
	}
	w.ask(k.Func, texts, asked)
	head := []string{fmt.Sprintf(".shared .align 16 .b8 %s[%d];", tileArray, bytes)}
	for _, r := range []struct {
		kind, name string
		count      int
	}{{"pred", "p", w.pred}, {"b32", "r", w.narrow}, {"b64", "w", w.wide}} {
		if r.count > 0 {
			head = append(head, fmt.Sprintf(".reg .%s %s%s<%d>;", r.kind, tilePrefix, r.name, r.count))
		}
	}
	if w.asked != "" {
		head = append(head, fmt.Sprintf(".reg .b32 %s;", w.asked), fmt.Sprintf("mov.u32 %s, 1;", w.asked))
	}
	k.Insert(k.First(), strings.Join(head, "\n\t"))
	return nil
}

// tileRoom is how much a tile may take beside a kernel's own shared memory, bytes. Gaps between
// arrays are allowed for.
func tileRoom(own int) int {
	if own > 0 {
		own = pass.RoundUp(own+128, pass.DynamicAlign)
	}
	return max(0, pass.SharedLimit-own)
}

// ask writes, in front of each branch by which threads may leave, the question whether one does.
// Where one has left before, nothing is asked.
func (w *tileWriter) ask(f *ptx.Func, texts []*tileText, asked []int) {
	slices.Sort(asked)
	for number, stmt := range asked {
		var leaves string
		for _, x := range texts {
			for _, p := range x.n.asked {
				if p.stmt == stmt {
					leaves = map[bool]string{true: "!"}[p.whenFalse] + w.t.Name(p.predicate)
				}
			}
		}
		all, left, over := w.p(), w.p(), "$"+tileLabel+"_asked_"+strconv.Itoa(number)
		lines := []string{
			fmt.Sprintf("setp.ne.u32 %s, %s, 0;", all, w.asked),
			fmt.Sprintf("@!%s bra %s;", all, over),
			fmt.Sprintf("barrier.red.or.pred %s, 0, %s;", left, leaves),
			fmt.Sprintf("selp.u32 %s, 0, 1, %s;", w.asked, left),
			over + ":",
		}
		f.Insert(stmt, strings.Join(lines, "\n\t"))
	}
}
