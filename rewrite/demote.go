package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// demote=WORDS:STRATEGY keeps up to WORDS 32-bit values of every thread in shared memory instead of
// registers, values that are live where the kernel needs most registers.
//
//	                                 .shared .align 8 .b8 __gnvcc_demoted[2048];       (once, at entry)
//	                                 mov.u32 %gnvcc_da, __gnvcc_demoted;
//	                                 mad.lo.u32 %gnvcc_da, %gnvcc_dt, 4, %gnvcc_da;
//	add.f32 %f7, %f1, %f2;           add.f32 %gnvcc_d0, %f1, %f2;
//	                                 st.volatile.shared.b32 [%gnvcc_da+512], %gnvcc_d0;
//	...                              ...
//	                                 ld.volatile.shared.b32 %gnvcc_d1, [%gnvcc_da+512];
//	fma.rn.f32 %f9, %f7, %f3, %f4;   fma.rn.f32 %f9, %gnvcc_d1, %f3, %f4;
//
// Which values: demotechoose.go (STRATEGY is static, loops or conflicts). Where loads and stores
// stand, and which of them fall away: demoteplace.go. WORDS is a number from 1 to 64.
//
// Slot r of thread t lies at base + 4 t + 4 r N, where N is the largest block: neighbours lie in
// neighbouring banks, so no access has a bank conflict. 64-bit values have slots of 8 bytes, in
// front of the others: base + 8 t + 8 r N. t is the linear index in a block of one to three
// dimensions.
//
// N is the block that the entry is launched with, where that is known (a second entry; .reqntid),
// else the bound that the source gives (.maxntid), else 1024. All of it together with the kernel's
// own arrays must stay within the 48 KB that every launch may have.
//
// The accesses are volatile because ptxas (13.0 to 13.5; 11.8 and 12.4 not always) otherwise
// forwards a stored value to the loads of the same stretch of code, and the register stays: 64 in
// place of 40 in a straight line of 24 doubles.
//
// Only where the size of dynamic shared memory is known (a second entry, chosen by that): else a
// launch that asks for all that is left would fail, whether the kernel has an array for it or not.
// Not with real calls, setmaxnreg, clusters and grid-wide barriers (which build on how many blocks
// are resident), nor with -G. Registers that appear in an instruction which is not on the list of
// demotechoose.go, tensor cores' among them, stay.
//
// Safe: a thread reads its own slots only, and what it wrote last. Exact as checked only: ptxas
// contracts multiplications and additions by itself, and can't across memory.
//
// From: Sakdhnagool, Sabne, Eigenmann, RegDem: Increasing GPU Performance via Shared Memory
// Register Spilling, sections 3.1 to 3.4, which works on SASS.
func demote(k *kernel, terms []recipe.Term) error {
	value, err := only(terms)
	if err != nil {
		return err
	}
	amount, strategy, ok := strings.Cut(value, ":")
	if !ok || !slices.Contains(Strategies, strategy) {
		return fmt.Errorf("%q: it is a number of words and a strategy of %v: demote=8:loops", value,
			Strategies)
	}
	words, err := recipe.Number(amount, 1, MostDemoted)
	if err != nil {
		return err
	}
	t, err := k.uses()
	if err != nil {
		return err
	}
	if err := k.takesShared(); err != nil {
		return err
	}
	dynamic := k.options.Dynamic[k.Name]
	switch {
	case strings.Contains(string(k.Text()), demotePrefix) || strings.Contains(string(k.Text()),
		demoteArray):
		return fmt.Errorf("the kernel has names that begin with %s or %s already", demotePrefix,
			demoteArray)
	case slices.Contains(k.module.Target, "debug"):
		return errors.New("the kernel is built for debugging (-G)")
	case t.Calls:
		return errors.New("the kernel has calls, whose registers are not seen here")
	case t.SharedDynamic && readsSharedSize(k.Text()):
		return errors.New("the kernel reads how much shared memory it has")
	case t.SetMaxNReg:
		return errors.New("the kernel moves registers between warps (setmaxnreg)")
	case t.Cluster || t.GridSync:
		return errors.New(
			"the kernel builds on how many blocks are resident at once (clusters, grid-wide barriers)")
	}
	block := blockOf(k)
	if words > Demotable(block.threads, t.SharedStatic+dynamic) {
		return fmt.Errorf(
			"%d words for each of %d threads take %d bytes; beside the kernel's own %d there is room for %d words",
			words, block.threads, 4*words*block.threads, t.SharedStatic+dynamic, Demotable(block.threads,
				t.SharedStatic+dynamic))
	}
	flow, err := k.Flow()
	if err != nil {
		return err
	}
	chosen := chooseDemoted(k.Func, flow, words, strategy)
	if len(chosen) == 0 {
		return errors.New("no value that is live where most registers are needed can be demoted")
	}
	d := newDemotion(k, flow, chosen, block)
	if t.SharedDynamic {
		d.bytes = roundTo(d.bytes, dynamicAlign)
	}
	d.write()
	return nil
}

// Strategies are how demote ranks values: by their accesses in the text, by accesses weighted by
// the loops around them, by the instructions that they share with other candidates (RegDem, section
// 3.4.3).
var Strategies = []string{"static", "loops", "conflicts"}

// MostDemoted is the largest number of words that demote takes.
const MostDemoted = 64

const (
	demotePrefix = "%gnvcc_d"
	demoteArray  = "__gnvcc_demoted"
)

// dynamicAlign is what the size of our array is a multiple of where a dynamic array lies behind it:
// that begins at an address as even as before, up to the most that hardware asks for (TMA's
// swizzles).
const dynamicAlign = 1024

func roundTo(n, unit int) int { return (n + unit - 1) / unit * unit }

// Demotable is the largest number of words that demote takes for blocks of so many threads beside
// so many bytes of the kernel's own shared memory, static and dynamic. Gaps between arrays, which
// Traits does not count, and our own rounding are allowed for.
func Demotable(threads, own int) int {
	if threads <= 0 {
		threads = maxThreads
	}
	if own > 0 {
		own = roundTo(own+128, dynamicAlign)
	}
	return max(0, min(MostDemoted, (sharedLimit-own)/(4*threads)))
}

// A blockBounds is what is known of the blocks that an entry is launched with.
type blockBounds struct {
	threads int    // at most
	exact   [3]int // the block, where it is known; else zeros
}

func blockOf(k *kernel) blockBounds {
	known := func(d [3]int) bool { n := d[0] * d[1] * d[2]; return n > 0 && n <= maxThreads }
	if d := k.options.Blocks[k.Name]; known(d) {
		return blockBounds{d[0] * d[1] * d[2], d}
	}
	n, exact := k.Threads()
	if n <= 0 || n > maxThreads {
		return blockBounds{threads: maxThreads}
	}
	if args, ok := k.Directive(".reqntid"); ok && exact {
		d := [3]int{1, 1, 1}
		for i, word := range strings.Split(args, ",") {
			if i < 3 {
				d[i], _ = recipe.Number(strings.TrimSpace(word), 1, maxThreads)
			}
		}
		if d[0]*d[1]*d[2] == n {
			return blockBounds{n, d}
		}
	}
	return blockBounds{threads: n}
}

// index writes the thread's linear index into register `to`; other is a register for use in
// between.
func (b blockBounds) index(to, other string) []string {
	x, y, z := b.exact[0], b.exact[1], b.exact[2]
	text := `
		mov.u32 TO, %tid.z;
		mov.u32 OTHER, %ntid.y;
		mul.lo.u32 TO, TO, OTHER;
		mov.u32 OTHER, %tid.y;
		add.u32 TO, TO, OTHER;
		mov.u32 OTHER, %ntid.x;
		mul.lo.u32 TO, TO, OTHER;
		mov.u32 OTHER, %tid.x;
		add.u32 TO, TO, OTHER;`
	row := `
		mov.u32 OTHER, %tid.x;
		mad.lo.u32 TO, TO, X, OTHER;`
	switch {
	case x == 0: // not known
	case y == 1 && z == 1:
		text = "mov.u32 TO, %tid.x;"
	case z == 1:
		text = "mov.u32 TO, %tid.y;" + row
	default:
		text = `
		mov.u32 TO, %tid.z;
		mov.u32 OTHER, %tid.y;
		mad.lo.u32 TO, TO, Y, OTHER;` + row
	}
	return fill(text, "TO", to, "OTHER", other, "X", fmt.Sprint(x), "Y", fmt.Sprint(y))
}

// A demotion is the pass at work on one kernel.
type demotion struct {
	k      *kernel
	flow   *ptx.Flow
	slots  []slot
	slotOf []int32 // by register, -1: it stays
	// by statement: words live in front of it that are not demoted, and what is kept loaded
	room    []int32
	bound   int32 // the largest of them: what is kept loaded does not go beyond it
	block   blockBounds
	bytes   int
	narrow  int // fresh registers so far, 32 bits
	wide    int // 64 bits
	actions []action
}

// A slot is a demoted register's place.
type slot struct {
	reg    int32
	wide   bool
	offset int
}

func newDemotion(k *kernel, flow *ptx.Flow, chosen []int32, block blockBounds) *demotion {
	d := &demotion{k: k, flow: flow, block: block, slotOf: make([]int32, flow.Registers())}
	for i := range d.slotOf {
		d.slotOf[i] = -1
	}
	for _, wide := range []bool{true, false} {
		for _, r := range chosen {
			if (flow.Words(r) == 2) == wide {
				d.slotOf[r] = int32(len(d.slots))
				d.slots = append(d.slots, slot{r, wide, d.bytes})
				d.bytes += 4 * flow.Words(r) * block.threads
			}
		}
	}
	d.room = flow.Pressure(func(r int32) int {
		if d.slotOf[r] >= 0 {
			return 0
		}
		return flow.Words(r)
	})
	for _, n := range d.room {
		d.bound = max(d.bound, n)
	}
	return d
}

// write notes all edits.
func (d *demotion) write() {
	d.place()
	d.dropStores()
	k := d.k
	t, a, e, other := demotePrefix+"t", demotePrefix+"a", demotePrefix+"e", demotePrefix+"u"
	narrow, wide := false, false
	for _, s := range d.slots {
		narrow, wide = narrow || !s.wide, wide || s.wide
	}
	head := []string{fmt.Sprintf(".shared .align 8 .b8 %s[%d];", demoteArray, d.bytes)}
	if d.narrow > 0 {
		head = append(head, fmt.Sprintf(".reg .b32 %s<%d>;", demotePrefix, d.narrow))
	}
	if d.wide > 0 {
		head = append(head, fmt.Sprintf(".reg .b64 %sw<%d>;", demotePrefix, d.wide))
	}
	names := []string{t, other}
	if narrow {
		names = append(names, a)
	}
	if wide {
		names = append(names, e)
	}
	head = append(head, fmt.Sprintf(".reg .b32 %s;", strings.Join(names, ", ")))
	head = append(head, d.block.index(t, other)...)
	head = append(head, fmt.Sprintf("mov.u32 %s, %s;", other, demoteArray))
	if wide {
		head = append(head, fmt.Sprintf("mad.lo.u32 %s, %s, 8, %s;", e, t, other))
	}
	if narrow {
		head = append(head, fmt.Sprintf("mad.lo.u32 %s, %s, 4, %s;", a, t, other))
	}
	k.Insert(k.First(), strings.Join(head, "\n\t"))
	for _, x := range d.actions {
		s := d.slots[x.slot]
		base, kind := a, "b32"
		if s.wide {
			base, kind = e, "b64"
		}
		switch x.kind {
		case rename:
			k.ReplaceSpan(x.at, x.temp)
		case load:
			k.Insert(d.inFront(x.stmt), fmt.Sprintf("ld.volatile.shared.%s %s, [%s+%d];", kind, x.temp, base,
				s.offset))
		case store:
			k.Insert(x.stmt+1, fmt.Sprintf("%sst.volatile.shared.%s [%s+%d], %s;", x.guard, kind, base,
				s.offset, x.temp))
		}
	}
}

// inFront is where an insertion in front of an instruction goes: a pragma that is for the
// instruction stays with it. (nounroll is for the block, and must stay in front of its first
// instruction.)
func (d *demotion) inFront(stmt int) int {
	for i := stmt - 1; i >= 0; i-- {
		switch s := d.k.Stmts[i]; {
		case s.Kind == ptx.Line:
		case s.Kind == ptx.Direction && bytes.Contains(d.k.Text()[s.Start:s.End],
			[]byte("used_bytes_mask")):
			stmt = i
		default:
			return stmt
		}
	}
	return stmt
}
