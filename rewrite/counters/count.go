package counters

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/await"
)

// Insert makes a kernel count how often each of its basic blocks is run by a warp. It is no lever:
// no build ever holds such a kernel. The tuner runs it once in a replay, and reads the table.
//
//	$L_1:                     $L_1:
//	                          activemask.b32 %gnvcc_c0;
//	                          and.b32 %gnvcc_c2, %gnvcc_c0, %gnvcc_c1;   (lanes before this one)
//	                          setp.eq.u32 %gnvcc_cp, %gnvcc_c2, 0;
//	                          @%gnvcc_cp red.global.add.u64 [%gnvcc_ct+8], %gnvcc_co;
//
// A block that the lanes of a warp run at different times counts so often: so often its
// instructions are issued. Of what a predicate decides within a block, or at its end (a branch, selp,
// an instruction under a guard), it is noted whether it was ever true, and ever false:
//
//	                          @%p1 st.global.u64 [%gnvcc_ct+16], %gnvcc_co;
//	                          @!%p1 st.global.u64 [%gnvcc_ct+24], %gnvcc_co;
//	selp.f32 %f3, %f1, %f2, %p1;
//
// The table has one part for each multiprocessor, so that not all warps of
// the GPU add to one address. It lies in a variable of the candidate's own module.
//
// The functions that the kernel calls are counted, too, but for those that it calls by pointer.
// Refused: 32-bit addresses, PTX without activemask, a kernel that waits for its other blocks (it
// must not become slower than what it waits for).
//
// registers are those of nvcc's own build: the counting one has no more; 0: any number.
//
// Safe: it writes nothing but registers and a table of its own. The tuner compares memory all the
// same.
//
// The counters are those of the module as it is given, whose text stays.
func Insert(m *ptx.Module, kernel string, registers int) (text []byte, c Counters, err error) {
	of := m
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
		if err := machine.Needs("activemask", 62, 30); err != nil {
			return nil, c, fmt.Errorf("count %s: %w", kernel, err)
		}
	}
	if waits, err := await.Why(m, kernel); err != nil || waits != "" {
		return nil, c, fmt.Errorf("count %s: its blocks may wait for each other", kernel)
	}
	if c, err = Of(of, kernel); err != nil {
		return nil, c, fmt.Errorf("count %s: %w", kernel, err)
	}
	if c.Size() > mostTable {
		return nil, c, fmt.Errorf("count %s: a table of %d bytes", kernel, c.Size())
	}
	var functions []*ptx.Func
	for n, b := range c {
		g := m.Funcs[slices.Index(of.Funcs, b.Func)]
		if !slices.Contains(functions, g) {
			functions = append(functions, g)
		}
		if b.Choice > 0 {
			g.Insert(b.Choice, b.note(n))
			continue
		}
		for i := b.Block.First; i < b.Block.Last; i++ {
			if b.Stmts[i].Kind == ptx.Inst {
				g.Insert(i, strings.Join(countBlock(n), "\n\t"))
				break
			}
		}
	}
	for _, g := range functions {
		g.ReplaceSpan(ptx.Span{Start: g.Inside().Start, End: g.Inside().Start},
			"\n\t"+strings.Join(c.entry(), "\n\t"))
	}
	if limit := (registers + 7) / 8 * 8; limit > 0 && !limited(f) {
		// A launch that fits must fit with the counting, too. What it costs is of no interest.
		f.AddDirective(fmt.Sprintf(".maxnreg %d", min(max(limit, pass.MinRegisters), pass.MaxRegisters)))
	}
	for _, g := range functions {
		if err := g.Commit(); err != nil {
			return nil, c, fmt.Errorf("count %s: %w", kernel, err)
		}
	}
	out := m.Bytes()
	at := addressSize().FindIndex(out)
	if at == nil {
		return nil, c, errors.New("count: no .address_size")
	}
	declaration := fmt.Sprintf("\n.global .align 8 .b8 %s[%d];", Table, c.Size())
	return append(out[:at[1]:at[1]], append([]byte(declaration), out[at[1]:]...)...), c, nil
}

// Table is the variable that a counting candidate counts in.
const Table = "gnvcc_counts"

const (
	countParts = 192     // of the table, by the multiprocessor's number: no GPU has more
	mostTable  = 1 << 26 // bytes: 43,690 counters
)

var addressSize = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*\.address_size[ \t]+64`)
})

// Size is the table's, in bytes.
func (c Counters) Size() int { return countParts * 8 * len(c) }

// Sum adds up the parts of a table: how often each block was run by a warp.
func (c Counters) Sum(table []byte) ([]uint64, error) {
	if len(table) != c.Size() {
		return nil, fmt.Errorf("a table of %d bytes, not %d", len(table), c.Size())
	}
	sums := make([]uint64, len(c))
	for i := 0; i+8 <= len(table); i += 8 {
		sums[i/8%len(sums)] += binary.LittleEndian.Uint64(table[i:])
	}
	return sums, nil
}

// limited reports whether the source says how many registers there are to be.
func limited(f *ptx.Func) bool {
	for _, name := range []string{".maxnreg", ".minnctapersm", ".maxnctapersm"} {
		if _, ok := f.Directive(name); ok {
			return true
		}
	}
	return false
}

// entry is the text at a function's entry: where this multiprocessor's part of the table lies.
func (c Counters) entry() []string {
	return pass.Fill(`
		.reg .pred Cp;
		.reg .b32 C<3>;
		.reg .b64 Ct, Co, Ca;
		mov.u32 C0, %smid;
		rem.u32 C0, C0, PARTS;
		mov.u64 Ca, TABLE;
		mad.wide.u32 Ct, C0, STRIDE, Ca;
		mov.u64 Co, 1;
		mov.u32 C1, %lanemask_lt;`, "C", "%gnvcc_c", "PARTS", fmt.Sprint(countParts),
		"TABLE", Table, "STRIDE", fmt.Sprint(8*len(c)))
}

// countBlock adds one to a block's counter, in the first active lane.
func countBlock(n int) []string {
	return pass.Fill(`
		activemask.b32 C0;
		and.b32 C2, C0, C1;
		setp.eq.u32 Cp, C2, 0;
		@Cp red.global.add.u64 [Ct+AT], Co;`, "C", "%gnvcc_c", "AT", fmt.Sprint(8*n))
}
