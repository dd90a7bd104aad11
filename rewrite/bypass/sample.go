package bypass

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/await"
)

// Sample makes a kernel try several thresholds of the lever bypass in one launch: on each
// multiprocessor another one, and after some time the next one, while warps add up how long they
// run in a table of the module's own. It is no lever: no build ever holds such a kernel. The tuner
// runs it in a replay, reads the table, and tries first what did best.
//
//	                         mov.u32 %gnvcc_s2, %smid; mov.u64 %gnvcc_sd2, %clock64;   (at entry)
//	                         ld.global.u32 %gnvcc_s1, [gnvcc_thresholds + 4 i];
//	                         (bypass.go's predicate, for warps below %gnvcc_s1)
//	                         red.global.add.u64 [table], -(%clock64) lanes;
//	ld.global.f32 %f1, ...   (bypass.go's two loads)
//	@%p1 ret;                @!%p1 bra $gnvcc_s0;
//	                         red.global.add.u64 [table], %clock64 lanes;
//	                         ret;
//	                         $gnvcc_s0:
//
// What is added is the clock times the lanes that come or go together, less at entry, more at the
// end: so a sum is the cycles that its lanes have run, also where the lanes of a warp end at
// different places, and no start has to live as long as the kernel. So many lanes have to end as
// have begun, else the table says nothing.
//
// A multiprocessor has a threshold for 2^Window cycles, then the next one; each begins with
// another. So all have had all after a while: multiprocessors are not alike (on an H200 some take
// 1.2 times as long as others for loads that come from memory, by where they lie on the chip), and
// thresholds are compared on each by itself. Warps that begin in the first half of a window are not
// looked at: beside them run some of the threshold before.
//
// All multiprocessors have as many warps as in any launch, which the thesis says its first way of
// sampling lacks (blocks that have a multiprocessor to themselves). What it can't tell: L2 and
// memory are shared, so that a threshold that spares them helps those beside it, too.
//
// Refused: what bypass refuses; a kernel whose blocks may wait for each other (they are no longer
// alike in time); functions that end the thread by themselves.
//
// Safe: exactly one of the two loads is done, as for bypass; it writes nothing but registers and a
// table of its own. No result depends on the clock. The tuner compares memory all the same.
//
// From: Li, GPU performance modeling and optimization (2016), 5.4.4, where each multiprocessor has
// one threshold.
func Sample(m *ptx.Module, kernel string, o Sampling) (text []byte, err error) {
	fail := func(err error) ([]byte, error) { return nil, fmt.Errorf("sample %s: %w", kernel, err) }
	m = m.Clone()
	f := m.Entry(kernel)
	switch {
	case f == nil || !f.Body:
		return fail(errors.New("no such kernel in this PTX"))
	case len(o.Thresholds) < 2 || len(o.Thresholds) > 32:
		return fail(fmt.Errorf("%d thresholds", len(o.Thresholds)))
	case o.Window < 1 || o.Window > 40:
		return fail(fmt.Errorf("a window of 2^%d cycles", o.Window))
	case m.AddressSize != 64:
		return fail(fmt.Errorf("addresses of %d bits", m.AddressSize))
	case bytes.Contains(m.Bytes(), []byte("gnvcc_s")), bytes.Contains(m.Bytes(),
		[]byte(bypassPrefix)), bytes.Contains(m.Bytes(), []byte(thresholdTable)):
		return fail(errors.New("the PTX has names that begin with gnvcc_"))
	}
	if err := pass.MachineOf(m).Needs("L1::no_allocate", 74, 70); err != nil {
		return fail(err)
	}
	if waits, err := await.Why(m, kernel); err != nil || waits != "" {
		return fail(errors.New("its blocks may wait for each other"))
	}
	if err := onlyItselfEnds(m, f); err != nil {
		return fail(err)
	}
	if err := twoLoads(f); err != nil {
		return fail(err)
	}
	f.Insert(f.First(), strings.Join(o.entry(), "\n\t"))
	ends := 0
	for i := range f.Stmts {
		if base := string(f.Base(i)); f.Stmts[i].Kind == ptx.Inst && (base == "ret" || base == "exit") {
			f.Replace(i, strings.Join(sampleEnd(f, i, ends), "\n\t"))
			ends++
		}
	}
	if limit := (o.Registers + 7) / 8 * 8; limit > 0 && !counters.Limited(f) {
		// As many warps as nvcc's own build has, or the times are another launch's.
		f.AddDirective(fmt.Sprintf(".maxnreg %d", min(max(limit, pass.MinRegisters), pass.MaxRegisters)))
	}
	if err := f.Commit(); err != nil {
		return fail(err)
	}
	out := m.Bytes()
	at := counters.AddressSize().FindIndex(out)
	if at == nil {
		return fail(errors.New("no .address_size"))
	}
	list := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(o.Thresholds)), ", "), "[]")
	declaration := fmt.Sprintf("\n.global .align 8 .b8 %s[%d];\n.global .align 4 .u32 %s[%d] = {%s};",
		Table, o.Size(), thresholdTable, len(o.Thresholds), list)
	return append(out[:at[1]:at[1]], append([]byte(declaration), out[at[1]:]...)...), nil
}

// Sampling says what a sampling build has to know.
type Sampling struct {
	Thresholds []int // values of bypass=K
	Window     int   // a threshold has a multiprocessor for 2^Window cycles
	Registers  int   // per thread of nvcc's own build: the sampling one has no more; 0: any number
}

// Table is the variable in which a sampling build adds up cycles.
const (
	Table = "gnvcc_samples"

	samplePrefix   = "%gnvcc_s"
	thresholdTable = "gnvcc_thresholds"
	sampleParts    = counters.CountParts // by the multiprocessor's number
	sampleCell     = 3 * 8               // cycles, lanes that began, lanes that ended
)

// Size is the table's, in bytes: for each multiprocessor a cell for each threshold, and one for
// what is not looked at. One such for all multiprocessors made a kernel three times as slow.
func (o Sampling) Size() int { return sampleParts * o.cells() * sampleCell }

func (o Sampling) cells() int { return len(o.Thresholds) + 1 }

// A Sampled is what one multiprocessor has to say of one threshold.
type Sampled struct {
	Multiprocessor int
	Threshold      int     // value of bypass=K
	Cycles         float64 // that a lane has run, the mean
	Lanes          uint64
}

// Read gives what multiprocessors say of the thresholds that they had: since the beginning, or,
// with the table as it was before, since then.
func (o Sampling) Read(table, before []byte) ([]Sampled, error) {
	if len(table) != o.Size() || before != nil && len(before) != o.Size() {
		return nil, fmt.Errorf("a table of %d bytes, not %d", len(table), o.Size())
	}
	var out []Sampled
	for cell := range sampleParts * o.cells() {
		word := func(n int) uint64 {
			v := binary.LittleEndian.Uint64(table[cell*sampleCell+8*n:])
			if before != nil {
				v -= binary.LittleEndian.Uint64(before[cell*sampleCell+8*n:])
			}
			return v
		}
		cycles, began, ended := word(0), word(1), word(2)
		s, i := cell/o.cells(), cell%o.cells()
		if began != ended || cycles > 1<<63 {
			return nil, fmt.Errorf("of %d lanes %d have ended on multiprocessor %d", began, ended, s)
		}
		if began > 0 && i < len(o.Thresholds) {
			out = append(out, Sampled{Multiprocessor: s, Threshold: o.Thresholds[i],
				Cycles: float64(cycles) / float64(began), Lanes: began})
		}
	}
	return out, nil
}

// entry is the text at the kernel's entry. %gnvcc_s3 is the cell from then on.
func (o Sampling) entry() []string {
	n := fmt.Sprint(len(o.Thresholds))
	out := pass.Fill(`
		.reg .pred Sp;
		.reg .b32 S<4>;
		.reg .b64 Sd<3>;
		mov.u32 S2, %smid;
		rem.u32 S2, S2, PARTS;
		mov.u64 Sd2, %clock64;
		shr.u64 Sd2, Sd2, HALF;
		cvt.u32.u64 S3, Sd2;
		and.b32 S1, S3, 1;
		setp.eq.u32 Sp, S1, 1;
		shr.u32 S3, S3, 1;
		add.u32 S3, S3, S2;
		rem.u32 S3, S3, N;
		mov.u64 Sd0, TABLE;
		mad.wide.u32 Sd0, S3, 4, Sd0;
		ld.global.u32 S1, [Sd0];`, "S", samplePrefix, "PARTS", fmt.Sprint(sampleParts),
		"HALF", fmt.Sprint(o.Window-1), // %gnvcc_sp: it is the window's second half
		"N", n, "TABLE", thresholdTable)
	out = append(out, belowThreshold("%gnvcc_s1")...)
	out = append(out, pass.Fill(`
		selp.b32 S3, S3, N, Sp;
		mad.lo.u32 S3, S2, CELLS, S3;`, "S", samplePrefix, "N", n, "CELLS", fmt.Sprint(o.cells()))...)
	return append(out, sampleAdd(8, "neg.s64 Sd2, Sd2;")...)
}

// sampleAdd adds the clock, as an instruction makes it, to the cell's cycles, and the lanes that
// are here to its counter at an offset.
func sampleAdd(lanes int, sign string) []string {
	return pass.Fill(`
		mov.u64 Sd0, TABLE;
		mad.wide.u32 Sd0, S3, CELL, Sd0;
		activemask.b32 S0;
		popc.b32 S1, S0;
		cvt.u64.u32 Sd1, S1;
		mov.u32 S1, %lanemask_lt;
		and.b32 S1, S1, S0;
		setp.eq.u32 Sp, S1, 0;
		@Sp red.global.add.u64 [Sd0+LANES], Sd1;
		mov.u64 Sd2, %clock64;
		mul.lo.u64 Sd2, Sd2, Sd1;
		`+sign+`
		@Sp red.global.add.u64 [Sd0], Sd2;`, "S", samplePrefix, "TABLE", Table,
		"CELL", fmt.Sprint(sampleCell), "LANES", fmt.Sprint(lanes))
}

// sampleEnd is the text for the n-th instruction by which a thread ends. Its guard becomes a branch
// over all of it.
func sampleEnd(f *ptx.Func, i, n int) []string {
	instruction := string(f.Text()[f.Stmts[i].Op:f.Stmts[i].End])
	guard, negated := f.Guard(i)
	if guard == nil {
		return append(sampleAdd(16, ""), instruction)
	}
	not := "!"
	if negated {
		not = ""
	}
	skip := fmt.Sprintf("$gnvcc_s%d", n)
	out := append([]string{fmt.Sprintf("@%s%s bra %s;", not, guard, skip)}, sampleAdd(16, "")...)
	return append(out, instruction, skip+":")
}

// onlyItselfEnds tells whether no function that a kernel calls ends the thread.
func onlyItselfEnds(m *ptx.Module, kernel *ptx.Func) error {
	reach, err := m.Reach(kernel.Name)
	if err != nil {
		return err
	}
	for _, f := range reach.Funcs {
		for i := range f.Stmts {
			if f != kernel && f.Stmts[i].Kind == ptx.Inst && string(f.Base(i)) == "exit" {
				return fmt.Errorf("the function %s ends the thread", f.Name)
			}
		}
	}
	return nil
}
