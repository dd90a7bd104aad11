package counters

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/await"
	"gnvcc/rewrite/ptx/ir"
)

// Insert makes a kernel count what it does: how often each basic block is run by a warp, how many
// sectors of memory (32 bytes) each access to global memory touches, and how many of them were not
// in the caches. It is no lever: no build
// ever holds such a kernel. The tuner runs it once in a replay, and reads the table.
//
//	$L_1:                     $L_1:
//	                          activemask.b32 %gnvcc_c0;
//	                          and.b32 %gnvcc_c2, %gnvcc_c0, %gnvcc_c1;   (lanes before this one)
//	                          setp.eq.u32 %gnvcc_cp, %gnvcc_c2, 0;
//	                          @%gnvcc_cp red.global.add.u64 [%gnvcc_ct+8], %gnvcc_co;
//	ld.global.f32 ...         (lanes that agree in address / 32 are found by match.any; the first
//	                          one of each adds; then) ld.global.f32 ...
//
// A block that the lanes of a warp run at different times counts so often: so often its
// instructions are issued. What an access touches is counted for the lanes that its guard lets
// through; a generic address counts where it is global. No access is wider than a sector or lies
// across two, since addresses are aligned to their width.
//
// The table has one part for each multiprocessor, so that not all warps of the GPU add to one
// address. It lies in a variable of the candidate's own module.
//
// Of the caches a picture is kept in two more such variables: one L1 a multiprocessor, one L2. A
// sector's place is a hash of its address, each place holds the sector that was there last. Real
// caches have ways and lines; these have neither, and err by a few percent where what is used
// nearly fills them. A load that finds its sector in L1 asks no further; stores and atomic
// operations go to L2, as they do since Volta. What L2 has not got is memory's. What was stored is
// marked in L2's picture, and counted as written to memory when another sector takes its place. L2
// still holds what an earlier run of the same candidate left, as it would: of two runs the first
// one's L2 is empty.
//
// How unevenly threads work is counted in the kernel itself: each thread adds up the instructions
// of the blocks that it runs, and where it ends adds that to its multiprocessor's sum, and to the
// longest thread's.
//
//	                          add.u64 %gnvcc_cw, %gnvcc_cw, 7;           (a block of seven)
//	                          ...
//	@%p1 ret;                 @%p1 red.global.add.u64 [%gnvcc_ct+80], %gnvcc_cw;
//	                          @%p1 red.global.max.u64 [%gnvcc_ct+88], %gnvcc_cw;
//	                          @%p1 ret;
//
// Of accesses to shared memory the turns are counted that their banks make them take
// (shared.go).
//
// The functions that the kernel calls are counted, too, but for those that it calls by pointer.
// Left alone: accesses by cp.async in bulk, textures. Refused: 32-bit addresses, what match needs
// (sm_70), a kernel that waits for its other blocks (it must not become slower than what it waits
// for).
//
// Safe: it writes nothing but registers and a table of its own. The tuner compares memory all the
// same.
func Insert(m *ptx.Module, kernel string, o Counting) (text []byte, c Counters, err error) {
	m = m.Clone()
	f := m.Entry(kernel)
	switch machine := pass.MachineOf(m); {
	case f == nil || !f.Body:
		return nil, c, fmt.Errorf("count %s: no such kernel in this PTX", kernel)
	case bytes.Contains(m.Bytes(), []byte("gnvcc_c")):
		return nil, c, fmt.Errorf("count %s: the PTX has names that begin with gnvcc_c", kernel)
	case m.AddressSize != 64:
		return nil, c, fmt.Errorf("count %s: addresses of %d bits", kernel, m.AddressSize)
	default:
		if err := machine.Needs("match", 62, 70); err != nil {
			return nil, c, fmt.Errorf("count %s: %w", kernel, err)
		}
	}
	if waits, err := await.Why(m, kernel); err != nil || waits != "" {
		return nil, c, fmt.Errorf("count %s: its blocks may wait for each other", kernel)
	}
	if c, err = CountersOf(m, kernel); err != nil {
		return nil, c, fmt.Errorf("count %s: %w", kernel, err)
	}
	// Whole sectors: shared memory may leave L1 any number of bytes, and each multiprocessor's picture
	// of it has to be aligned.
	c.caches = Caches{L1: max(o.L1/sector, 1) * sector, L2: max(o.L2/sector, 1) * sector}
	if c.Size() > mostTable {
		return nil, c, fmt.Errorf("count %s: a table of %d bytes", kernel, c.Size())
	}
	for n, b := range c.blocks {
		at, count := -1, 0 // its first instruction, and their number
		for i := b.Block.Last - 1; i >= b.Block.First; i-- {
			if b.Stmts[i].Kind == ptx.Inst {
				at, count = i, count+1
			}
		}
		if at >= 0 {
			text := countBlock(n)
			if b.Func == f {
				text = append(text, fmt.Sprintf("add.u64 %%gnvcc_cw, %%gnvcc_cw, %d;", count))
			}
			b.Func.Insert(at, strings.Join(text, "\n\t"))
		}
	}
	for i := range f.Stmts {
		if base := string(f.Base(i)); f.Stmts[i].Kind == ptx.Inst && (base == "ret" || base == "exit") {
			f.Insert(i, strings.Join(c.countEnd(f, i), "\n\t"))
		}
	}
	for n, a := range c.Accesses {
		a.Func.Insert(a.Stmt, strings.Join(c.countSectors(a, c.Blocks+each*n), "\n\t"))
	}
	for n, a := range c.Shared {
		a.Func.Insert(a.Stmt, strings.Join(countTurns(a, c.Blocks+each*len(c.Accesses)+n), "\n\t"))
	}
	for _, g := range c.functions {
		g.ReplaceSpan(ptx.Span{Start: g.Inside().Start, End: g.Inside().Start},
			"\n\t"+strings.Join(c.entry(), "\n\t"))
	}
	if limit := (o.Registers + 7) / 8 * 8; limit > 0 && !limited(f) {
		// A launch that fits must fit with the counting, too. What it costs is of no interest.
		f.AddDirective(fmt.Sprintf(".maxnreg %d", min(max(limit, pass.MinRegisters), pass.MaxRegisters)))
	}
	for _, g := range c.functions {
		if err := g.Commit(); err != nil {
			return nil, c, fmt.Errorf("count %s: %w", kernel, err)
		}
	}
	out := m.Bytes()
	at := addressSize().FindIndex(out)
	if at == nil {
		return nil, c, errors.New("count: no .address_size")
	}
	declaration := fmt.Sprintf("\n.global .align 8 .b8 %s[%d];\n.global .align 4 .b8 gnvcc_c1[%d];"+
		"\n.global .align 4 .b8 gnvcc_c2[%d];", Table, c.Size(), countParts*4*c.caches.L1/sector,
		4*c.caches.L2/sector)
	return append(out[:at[1]:at[1]], append([]byte(declaration), out[at[1]:]...)...), c, nil
}

// Counting says what a build with counters has to know.
type Counting struct {
	Registers int // per thread of nvcc's own build: the counting one has no more; 0: any number
	Caches
}

// Caches are sizes in bytes: what one multiprocessor's L1 has for global memory, and L2.
type Caches struct{ L1, L2 int }

const sector = 32 // bytes

// Table is the variable that a counting candidate counts in.
const Table = "gnvcc_counts"

const (
	countParts = 192     // of the table, by the multiprocessor's number: no GPU has more
	mostTable  = 1 << 26 // bytes: 65,536 counters
)

var addressSize = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*\.address_size[ \t]+64`)
})

// Counters says what a counting kernel's counters are: one a basic block of nvcc's own PTX, of the
// kernel and then of the functions that it calls; then some an access, one an access to shared
// memory, and two of the launch.
type Counters struct {
	Blocks    int
	Accesses  []Access       // in the same order
	Shared    []SharedAccess // likewise; none where the machine can't count them
	caches    Caches
	functions []*ptx.Func
	blocks    []Block
}

// A Block is a basic block of the kernel, or of a function.
type Block struct {
	*ptx.Func
	ptx.Block
}

// A Access is a load, store or atomic operation on global memory.
type Access struct {
	*ptx.Func
	Stmt, Block int  // Block: among all of the counters'
	Store       bool // or an atomic operation
	address     ptx.Span
	generic     bool
}

// Sectors is what the runs of an access touched: all sectors, those that L1 had not, and those that
// L2 had not, either; lines of L1, of 128 bytes, each of which takes a turn; and the sectors that
// were written to memory to make room.
type Sectors struct{ All, L2, Memory, Lines, Written uint64 }

const (
	each  = 5 // counters of an access
	whole = 2 // counters of the launch: its threads' work, and the longest one's
)

// A Work is how many instructions of the PTX threads run, those of called functions left out.
type Work struct {
	All     uint64 // by all threads together
	Longest uint64 // by the thread that runs most
	Busiest uint64 // by all threads of the multiprocessor that runs most
}

// CountersOf lists a kernel's counters.
func CountersOf(m *ptx.Module, kernel string) (c Counters, err error) {
	reach, err := m.Reach(kernel)
	if err != nil {
		return c, err
	}
	c.functions = []*ptx.Func{m.Entry(kernel)}
	for _, f := range reach.Funcs {
		if f.Body && !f.Entry {
			c.functions = append(c.functions, f)
		}
	}
	redux := pass.MachineOf(m).Needs("redux", 70, 80)
	for _, f := range c.functions {
		w, err := ir.Of(f)
		if err != nil {
			return c, err
		}
		for _, b := range w.Blocks {
			for i := b.First; i < b.Last; i++ {
				if a, ok := countedAccess(w, i); ok {
					a.Block = c.Blocks
					c.Accesses = append(c.Accesses, a)
				}
				if a, ok := sharedAccess(w, i); ok && redux == nil {
					a.Block = c.Blocks
					c.Shared = append(c.Shared, a)
				}
			}
			c.blocks = append(c.blocks, Block{f, b})
			c.Blocks++
		}
	}
	return c, nil
}

// Every calls yield for each block.
func (c Counters) Every(yield func(n int, b Block)) {
	for n, b := range c.blocks {
		yield(n, b)
	}
}

// Size is the table's, in bytes.
func (c Counters) Size() int { return countParts * c.stride() }

func (c Counters) stride() int {
	return 8 * (c.Blocks + each*len(c.Accesses) + len(c.Shared) + whole)
}

// Sum adds up the parts of a table: how often each block was run by a warp, what each access
// touched, how many turns each access to shared memory took.
func (c Counters) Sum(table []byte) (blocks []uint64, sectors []Sectors, turns []uint64,
	err error) {
	if len(table) != c.Size() {
		return nil, nil, nil, fmt.Errorf("a table of %d bytes, not %d", len(table), c.Size())
	}
	sums := make([]uint64, c.stride()/8)
	for i := 0; i+8 <= len(table); i += 8 {
		sums[i/8%len(sums)] += binary.LittleEndian.Uint64(table[i:])
	}
	at := c.Blocks
	for range c.Accesses {
		sectors = append(sectors, Sectors{sums[at], sums[at+1], sums[at+2], sums[at+3], sums[at+4]})
		at += each
	}
	return sums[:c.Blocks], sectors, sums[at : at+len(c.Shared)], nil
}

// Work reads the same table, of one run.
func (c Counters) Work(table []byte) (w Work) {
	for at := c.stride(); at <= len(table); at += c.stride() {
		of := binary.LittleEndian.Uint64(table[at-16:])
		w.All += of
		w.Busiest = max(w.Busiest, of)
		w.Longest = max(w.Longest, binary.LittleEndian.Uint64(table[at-8:]))
	}
	return w
}

// addressOf returns the address at which an instruction loads from memory, stores to it or changes it
// atomically, nil for others.
func addressOf(x *ir.Inst) *ir.Operand {
	operand := 1
	switch x.Op {
	case "ld", "ldu", "atom", "cp":
	case "st", "red":
		operand = 0
	default:
		return nil
	}
	if operand >= len(x.Args) || !x.Args[operand].Address {
		return nil
	}
	return &x.Args[operand]
}

// countedAccess looks at one statement. A level of cache or a policy makes no difference.
func countedAccess(w *ir.Func, i int) (a Access, ok bool) {
	x := w.Inst(i)
	o, space := addressOf(x), ptx.Space(w.Opcode(i))
	if x.Op == "cp" {
		space = "none"
		if x.Has("async") && !x.Has("bulk") && x.Has("global") {
			space = "global"
		}
	}
	if o == nil || space != "" && space != "global" {
		return a, false
	}
	return Access{Func: w.Func, Stmt: i, Store: x.Op == "st" || x.Op == "red" || x.Op == "atom",
		address: o.At, generic: space == ""}, true
}

// limited tells whether the source says how many registers there are to be.
func limited(f *ptx.Func) bool {
	for _, name := range []string{".maxnreg", ".minnctapersm", ".maxnctapersm"} {
		if _, ok := f.Directive(name); ok {
			return true
		}
	}
	return false
}

// entry is the text at the kernel's entry: where this multiprocessor's part of the table lies.
func (c Counters) entry() []string {
	return pass.Fill(`
		.reg .pred Cp, Cq, Cr, Cs;
		.reg .b32 C<8>;
		.reg .b64 Ct, Co, Ca, Cl, Cb, Cw;
		mov.u64 Cw, 0;
		mov.u32 C0, %smid;
		rem.u32 C0, C0, PARTS;
		mov.u64 Ca, gnvcc_c1;
		mad.wide.u32 Cl, C0, L1, Ca;
		mov.u64 Ca, TABLE;
		mad.wide.u32 Ct, C0, STRIDE, Ca;
		mov.u64 Co, 1;
		mov.u32 C1, %lanemask_lt;`, "C", countPrefix, "PARTS", fmt.Sprint(countParts),
		"L1", fmt.Sprint(4*c.caches.L1/sector), "TABLE", Table, "STRIDE", fmt.Sprint(c.stride()))
}

// countPrefix begins the names of all registers of a counting kernel.
const countPrefix = "%gnvcc_c"

// first sets the predicate %gnvcc_cp in the first active lane.
func first() []string {
	return pass.Fill(`
		activemask.b32 C0;
		and.b32 C2, C0, C1;
		setp.eq.u32 Cp, C2, 0;`, "C", countPrefix)
}

func countBlock(n int) []string {
	return append(first(),
		fmt.Sprintf("@%%gnvcc_cp red.global.add.u64 [%%gnvcc_ct+%d], %%gnvcc_co;", 8*n))
}

// countEnd adds a thread's work to the sums where it ends: what its statement's guard lets through.
func (c Counters) countEnd(f *ptx.Func, stmt int) []string {
	guard, negated := f.Guard(stmt)
	at := ""
	switch {
	case negated:
		at = fmt.Sprintf("@!%s ", guard)
	case guard != nil:
		at = fmt.Sprintf("@%s ", guard)
	}
	end := c.stride()
	return []string{
		fmt.Sprintf("%sred.global.add.u64 [%%gnvcc_ct+%d], %%gnvcc_cw;", at, end-16),
		fmt.Sprintf("%sred.global.max.u64 [%%gnvcc_ct+%d], %%gnvcc_cw;", at, end-8),
	}
}

// through sets %gnvcc_cq where a statement's guard lets a lane through.
func through(f *ptx.Func, stmt int) string {
	guard, negated := f.Guard(stmt)
	switch {
	case guard == nil:
		return "setp.eq.u64 %gnvcc_cq, %gnvcc_co, 1;"
	case negated:
		return fmt.Sprintf("not.pred %%gnvcc_cq, %s;", guard)
	}
	return fmt.Sprintf("mov.pred %%gnvcc_cq, %s;", guard)
}

// countSectors adds the numbers of sectors that an access touches to its counters.
func (c Counters) countSectors(a Access, counter int) []string {
	f := a.Func
	base, offset, _ := f.Address(a.address)
	out := append(first(), fmt.Sprintf("mov.u64 %%gnvcc_ca, %s;", base))
	if len(offset) > 0 {
		out = append(out, fmt.Sprintf("add.s64 %%gnvcc_ca, %%gnvcc_ca, %s;",
			strings.TrimPrefix(string(offset), "+")))
	}
	out = append(out, through(f, a.Stmt))
	if a.generic {
		out = append(out, "@%gnvcc_cq isspacep.global %gnvcc_cq, %gnvcc_ca;")
	}
	out = append(out, pass.Fill(`
		shr.u64 Cb, Ca, 7;
		selp.b64 Cb, Cb, -1, Cq;
		match.any.sync.b64 C3, Cb, C0;
		and.b32 C3, C3, C1;
		setp.eq.and.u32 Cr, C3, 0, Cq;
		mov.u64 Cb, Ca;`, "C", countPrefix)...)
	out = append(out, tally("%gnvcc_cr", counter+3)...)
	// %gnvcc_c4 names the sector (its highest bit: it was stored), %gnvcc_c5 is its hash
	out = append(out, pass.Fill(`
		shr.u64 Ca, Cb, 5;
		selp.b64 Ca, Ca, -1, Cq;
		match.any.sync.b64 C3, Ca, C0;
		and.b32 C3, C3, C1;
		setp.eq.and.u32 Cq, C3, 0, Cq;
		cvt.u32.u64 C4, Ca;
		add.u32 C4, C4, 1;
		and.b32 C4, C4, 0x7fffffff;
		mul.lo.u32 C5, C4, 0x9e3779b1;`, "C", countPrefix)...)
	out = append(out, tally("%gnvcc_cq", counter)...)
	if !a.Store {
		out = append(out, missed("%gnvcc_cl", c.caches.L1)...)
	}
	out = append(out, tally("%gnvcc_cq", counter+1)...)
	out = append(out, missedL2(c.caches.L2, a.Store)...)
	out = append(out, tally("%gnvcc_cq", counter+2)...)
	return append(out, tally("%gnvcc_cs", counter+4)...)
}

// tally adds the number of lanes that have a predicate set to a counter.
func tally(predicate string, counter int) []string {
	return pass.Fill(`
		vote.sync.ballot.b32 C3, SET, C0;
		popc.b32 C3, C3;
		cvt.u64.u32 Ca, C3;
		@Cp red.global.add.u64 [Ct+AT], Ca;`, "C", countPrefix, "SET", predicate,
		"AT", fmt.Sprint(8*counter))
}

// missed clears %gnvcc_cq where the sector is in a cache, whose picture begins at an address, and
// puts it there.
func missed(at string, bytes int) []string {
	return pass.Fill(`
		mul.hi.u32 C6, C5, SIZE;
		mad.wide.u32 Ca, C6, 4, AT;
		mov.u32 C6, C4;
		@Cq atom.global.exch.b32 C6, [Ca], C4;
		@Cq setp.ne.u32 Cq, C6, C4;`, "C", countPrefix, "SIZE", fmt.Sprint(bytes/sector), "AT", at)
}

// missedL2 does the same with L2, where what was stored stays marked until another sector takes its
// place: %gnvcc_cs is set then.
func missedL2(bytes int, store bool) []string {
	mark, left := "or.b32 C7, C4, 0x80000000;", ""
	if !store { // a load leaves the mark
		mark, left = "", "setp.eq.and.u32 Cq, C7, C4, Cs;\n@Cq st.global.b32 [Ca], C6;"
	}
	return pass.Fill(`
		mul.hi.u32 C6, C5, SIZE;
		mov.u64 Ca, gnvcc_c2;
		mad.wide.u32 Ca, C6, 4, Ca;
		mov.u32 C6, C4;
		mov.u32 C7, C4;
		`+mark+`
		@Cq atom.global.exch.b32 C6, [Ca], C7;
		and.b32 C7, C6, 0x7fffffff;
		setp.ne.u32 Cr, C7, C4;
		setp.lt.s32 Cs, C6, 0;
		`+left+`
		and.pred Cs, Cs, Cr;
		mov.pred Cq, Cr;`, "C", countPrefix, "SIZE", fmt.Sprint(bytes/sector))
}
