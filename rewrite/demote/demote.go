package demote

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
	"gnvcc/rewrite/recipe"
)

// Lever is the lever's name.
const Lever = "demote"

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
// demote=spill leaves it to ptxas (spill.go).
//
// Which values: choose.go (STRATEGY is static, loops or conflicts). Where loads and stores
// stand, and which of them fall away: place.go. WORDS is a number from 1 to 64.
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
// Not with calls (but of printf, assert and the like), setmaxnreg, clusters and grid-wide barriers
// (which build on how many blocks are resident), nor with -G. Registers that appear in an
// instruction which is not on the list of choose.go, tensor cores' among them, stay.
//
// Safe: a thread reads its own slots only, and what it wrote last. Exact as checked only: ptxas
// contracts multiplications and additions by itself, and can't across memory.
//
// From: Sakdhnagool, Sabne, Eigenmann, RegDem: Increasing GPU Performance via Shared Memory
// Register Spilling, sections 3.1 to 3.4, which works on SASS.
func Apply(k *pass.Kernel, terms []recipe.Term) error {
	value, err := pass.Only(terms)
	if err != nil {
		return err
	}
	if value == Spill {
		return spill(k)
	}
	amount, strategy, ok := strings.Cut(value, ":")
	if !ok || !slices.Contains(Strategies, strategy) {
		return fmt.Errorf("%q: it is %s, or a number of words and a strategy of %v: demote=8:loops",
			value, Spill, Strategies)
	}
	words, err := recipe.Number(amount, 1, Most)
	if err != nil {
		return err
	}
	if err := k.OwnArray(demotePrefix, demoteArray); err != nil {
		return err
	}
	t, err := k.Uses()
	if err != nil {
		return err
	}
	if t.Functions {
		return errors.New("the kernel calls functions, whose registers are not seen here")
	}
	own := t.SharedStatic + k.Options.Dynamic[k.Name]
	block := pass.BlockOf(k)
	if room := Room(block.Threads, own); words > room {
		return fmt.Errorf(
			"%d words for each of %d threads take %d bytes; beside the kernel's own %d there is room for %d words",
			words, block.Threads, 4*words*block.Threads, own, room)
	}
	flow, err := ir.Of(k.Func)
	if err != nil {
		return err
	}
	chosen := chooseDemoted(flow, words, strategy)
	if len(chosen) == 0 {
		return errors.New("no value that is live where most registers are needed can be demoted")
	}
	d := newDemotion(k, flow, chosen, block)
	if t.SharedDynamic {
		d.bytes = pass.RoundUp(d.bytes, pass.DynamicAlign)
	}
	d.write()
	return nil
}

// Strategies are how demote ranks values: by their accesses in the text, by accesses weighted by
// the loops around them, by the instructions that they share with other candidates (RegDem, section
// 3.4.3).
var Strategies = []string{"static", "loops", "conflicts"}

// Spill is the value by which ptxas itself spills registers to shared memory.
const Spill = "spill"

// Most is the largest number of words that demote takes.
const Most = 64

const (
	demotePrefix = "%gnvcc_d"
	demoteArray  = "__gnvcc_demoted"
)

// Room is the largest number of words that demote takes for blocks of so many threads beside so many
// bytes of the kernel's own shared memory, static and dynamic.
func Room(threads, own int) int {
	if threads <= 0 {
		threads = pass.MaxThreads
	}
	return min(Most, pass.RoomBeside(own)/(4*threads))
}

// A demotion is the pass at work on one kernel.
type demotion struct {
	k      *pass.Kernel
	flow   *ir.Func
	slots  []slot
	slotOf []int32 // by register, -1: it stays
	// by statement: words live in front of it that are not demoted, and what is kept loaded
	room    []int32
	bound   int32 // the largest of them: what is kept loaded does not go beyond it
	block   pass.Block
	bytes   int
	narrow  int // fresh registers so far, 32 bits
	wide    int // 64 bits
	actions []action
}

// A slot is a demoted register's place.
type slot struct {
	reg    ir.Reg
	wide   bool
	offset int
}

func newDemotion(k *pass.Kernel, flow *ir.Func, chosen []ir.Reg, block pass.Block) *demotion {
	d := &demotion{k: k, flow: flow, block: block, slotOf: make([]int32, flow.Registers())}
	for i := range d.slotOf {
		d.slotOf[i] = -1
	}
	for _, wide := range []bool{true, false} {
		for _, r := range chosen {
			if (flow.Words(r) == 2) == wide {
				d.slotOf[r] = int32(len(d.slots))
				d.slots = append(d.slots, slot{r, wide, d.bytes})
				d.bytes += 4 * flow.Words(r) * block.Threads
			}
		}
	}
	d.room = flow.Pressure(func(r ir.Reg) int {
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
	head = append(head, d.block.Index(t, other)...)
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
