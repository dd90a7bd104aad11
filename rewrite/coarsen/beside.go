package coarsen

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Blocks beside each other: coarsen=32x1x1b. A block of fewer threads than a warp leaves the other
// lanes of its warp empty, and of blocks only so many are resident. Here N of them stand in one
// block of a second entry, each in lanes of its own.
//
//	                            mov.u32 %gnvcc_ju, %tid.z;
//	                            mov.u32 %gnvcc_jb, %ctaid.x;
//	                            mad.lo.u32 %gnvcc_jb, %gnvcc_jb, 32, %gnvcc_ju;
//	                            setp.ge.u32 %gnvcc_jp, %gnvcc_jb, 845601;
//	                            @%gnvcc_jp ret;
//	.shared .b8 near[64];       .shared .b8 near[2048];
//	mov.u32 %r1, %ctaid.x;      mov.u32 %r1, %gnvcc_jb;
//	mov.u32 %r2, near;          mov.u32 %r2, %gnvcc_js0;         (near+64*%gnvcc_ju)
//	bar.sync 0;                 bar.warp.sync %gnvcc_jm;         (this block's lanes)
//
// The launches' blocks are 1 deep, with T threads where T divides 32, and known (host(block)); the
// second entry's are N deep, so that the threads of the kernel's block u are those with %tid.z = u.
// Where the grid is known too (host(grid)), N need not divide it: in the last block those ends that
// stand for no block end at once.
//
// Allowed are kernels whose blocks don't wait for each other, with known instructions, and without
// calls, warp operations, dynamic shared memory, and special registers other than the numbers and
// sizes of thread, block and grid. At most 256 threads stand in one block, which can be launched
// whatever registers they have.
//
// Safe: a thread's number in its block is tid.x + tid.y*ntid.x + tid.z*ntid.x*ntid.y, and a warp is
// 32 of them in a row (CUDA programming guide, thread hierarchy and SIMT architecture). So block
// u's threads are numbers u*T to u*T+T-1, and all of one warp, as T divides 32. Each carries out
// the kernel's own statements with its own numbers, and the arrays that were its block's are block
// u's.
// A barrier of the block is one of these lanes: bar.warp.sync waits for all lanes of its mask that
// have not ended, as bar.sync does for all threads of a block, and orders their accesses to memory
// likewise (PTX ISA, bar.warp.sync). Since sm_70 lanes go on by themselves, as threads of different
// blocks do. Checked: ptxas works on the arithmetic anew (rewrite/contract.go).
const (
	// MaxBeside bounds how many blocks stand beside each other: a block is at most 64 deep.
	MaxBeside = 64
	// MostBeside bounds their threads: with 255 registers each they take the 65,536 that a block has.
	MostBeside = 256
)

// Beside says why blocks of a kernel must not stand beside each other in one, nil if they may.
// block is the launches' own.
func Beside(m *ptx.Module, kernel string, block [3]int) error {
	f := m.Entry(kernel)
	if f == nil {
		return fmt.Errorf("no kernel %s in the PTX", kernel)
	}
	if t := pass.Threads(block); block[2] != 1 || t <= 0 || pass.Warp%t != 0 {
		return fmt.Errorf("its blocks of %dx%dx%d threads are no equal parts of a warp", block[0],
			block[1], block[2])
	}
	if outer, err := coarseOutside(m, f); err != nil {
		return err
	} else if len(outer.names) > 0 {
		return fmt.Errorf("it uses dynamic shared memory (%s)", outer.names[0])
	}
	for _, d := range f.Directives {
		switch d.Name {
		case ".reqntid", ".maxntid", ".minnctapersm", ".maxnctapersm":
			return fmt.Errorf("the source asks for %s %s, which refers to the original blocks", d.Name, d.Args)
		}
	}
	_, err := readBeside(f)
	return err
}

// A besideArray is a shared array.
type besideArray struct {
	name          string
	stmt          int
	size, stride  int // bytes; stride: how far those of two blocks are apart
	align, number int
}

// A besideRead is what is known of a kernel.
type besideRead struct {
	*ir.Func
	arrays   []besideArray
	barriers bool
}

func readBeside(f *ptx.Func) (*besideRead, error) {
	flow, err := ir.Of(f)
	if err != nil {
		return nil, err
	}
	r := &besideRead{Func: flow}
	for i, s := range f.Stmts {
		switch s.Kind {
		case ptx.Decl:
			err = r.declaration(i)
		case ptx.Direction:
			if op := string(f.Opcode(i)); op != ".pragma" {
				err = fmt.Errorf("it has a %s", op)
			}
		case ptx.Inst:
			err = r.instruction(i)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// declaration looks at a declaration in the body.
func (r *besideRead) declaration(i int) error {
	switch kind := string(r.Opcode(i)); kind {
	case ".reg", ".local": // each thread's own
		return nil
	case ".shared":
		vars, err := r.Declared(i)
		if err != nil {
			return err
		}
		if len(vars) != 1 || vars[0].Size() <= 0 || vars[0].Size() > pass.SharedLimit ||
			r.Stmts[i].Depth > 0 || i > r.First() {
			return errors.New("it has an unsupported shared array")
		}
		align := max(vars[0].Alignment(), 16)
		r.arrays = append(r.arrays, besideArray{name: vars[0].Name, stmt: i, size: vars[0].Size(),
			align: align, stride: (vars[0].Size() + align - 1) / align * align, number: len(r.arrays)})
		return nil
	default:
		return fmt.Errorf("it declares a variable of its own (%s)", kind)
	}
}

// instruction looks at one that the kernel has.
func (r *besideRead) instruction(i int) error {
	f, x := r.Func, r.Inst(i)
	for _, word := range x.Words {
		if word == "async" || word == "bulk" || word == "mmio" || strings.Contains(word, "cluster") {
			return fmt.Errorf("it has an access to what is not the thread's or the device's (%s)", f.Opcode(i))
		}
	}
	switch x.Op {
	case "bra", "ret", "exit", "trap", "ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu",
		"tex", "tld4", "suld", "sust", "sured", "membar", "fence", "addc", "subc", "madc":
	case "bar", "barrier":
		if !plainBarrier(x) {
			return fmt.Errorf("it has an unsupported barrier (%s)", f.Opcode(i))
		}
		r.barriers = true
	default:
		if !ir.Computes(x.Op) {
			return fmt.Errorf("it has an instruction that may see the block or the warp (%s)", f.Opcode(i))
		}
	}
	var err error
	r.Symbols(i, func(n ptx.Span) bool {
		name := string(r.Bytes(n))
		isArray := r.array(name) != nil
		switch {
		case isArray && !r.places(i, n):
			err = fmt.Errorf("it takes the address of a shared array in an unsupported way (%s)", f.Opcode(i))
		case !isArray && name[0] == '%' && (!strings.Contains(name, ".") || !shapeOf(name)):
			err = fmt.Errorf("it reads %s", name)
		}
		return err == nil
	})
	return err
}

// plainBarrier reports __syncthreads(): all threads of the block come to this same instruction.
func plainBarrier(x *ir.Inst) bool {
	return x.Guard == ir.None && len(x.Args) == 1 && x.Args[0].Text == "0" && (x.Is("bar.sync") ||
		x.Is("bar.cta.sync") || x.Is("barrier.sync.aligned") || x.Is("barrier.cta.sync.aligned"))
}

// array is the shared array of a name, nil where there is none.
func (r *besideRead) array(name string) *besideArray {
	for n := range r.arrays {
		if r.arrays[n].name == name {
			return &r.arrays[n]
		}
	}
	return nil
}

// places reports a shared array's name that it stands for a place: in the address of an access to
// shared memory, or by itself in a move.
func (r *besideRead) places(i int, n ptx.Span) bool {
	if x := r.Inst(i); x.Op == "mov" {
		return len(x.Args) == 2 && x.Args[1].At == n && moveBits(x) > 0
	}
	return sharedPlace(r.Func, i) != nil
}

// moveBits is the width of a move of an address, 0 for others.
func moveBits(x *ir.Inst) int {
	switch x.Type() {
	case "u32", "b32", "s32":
		return 32
	case "u64", "b64", "s64":
		return 64
	}
	return 0
}

// beside carries it out: n blocks of a size in one, in one dimension of the grid, which has so many
// in all, 0: n divides them.
func beside(k *pass.Kernel, dim, n int, block [3]int, grid int) error {
	if err := Beside(k.Module, k.Name, block); err != nil {
		return err
	}
	if t := pass.Threads(block); t*n > MostBeside {
		return fmt.Errorf("%d blocks of %d threads: %d threads are the most that fit in one", n, t,
			MostBeside)
	}
	if dynamic, known := k.Options.Dynamic[k.Name]; !known || dynamic != 0 {
		return errors.New("it is for launches without dynamic shared memory: host(dynamic)=0")
	}
	if err := k.Machine.Needs("bar.warp.sync of lanes that go on by themselves", 60, 70); err != nil {
		return err
	}
	r, err := readBeside(k.Func)
	if err != nil {
		return err
	}
	all := 0
	for _, a := range r.arrays {
		all += n * a.stride
		k.Replace(a.stmt, fmt.Sprintf(".shared .align %d .b8 %s[%d];", a.align, a.name, n*a.stride))
	}
	if all > pass.SharedLimit {
		return fmt.Errorf("%d blocks would have %d bytes of shared memory, and %d are the most", n, all,
			pass.SharedLimit)
	}
	axis := "xyz"[dim : dim+1]
	numbered := false
	for i, s := range k.Stmts {
		if s.Kind == ptx.Inst {
			numbered = r.rename(i, axis) || numbered
		}
	}
	if !numbered {
		return errNoNumber
	}
	k.Insert(k.First(), strings.Join(r.begin(axis, n, pass.Threads(block), grid), "\n\t"))
	return nil
}

// rename notes an instruction's edits, and reports whether it looks at the block's number.
func (r *besideRead) rename(i int, axis string) (numbered bool) {
	f, x := r.Func, r.Inst(i)
	if isBarrier(x) {
		s := f.Stmts[i]
		f.ReplaceSpan(ptx.Span{Start: s.Op, End: s.End}, "bar.warp.sync "+coarsePrefix+"m;")
		return false
	}
	r.Symbols(i, func(n ptx.Span) bool {
		name := string(r.Bytes(n))
		a := r.array(name)
		isArray := a != nil
		switch {
		case isArray && x.Op == "mov" && moveBits(x) == 64:
			s := f.Stmts[i]
			f.ReplaceSpan(ptx.Span{Start: s.Op, End: s.OpEnd}, "cvt.u64.u32")
			f.ReplaceSpan(n, fmt.Sprintf("%ss%d", coarsePrefix, a.number))
		case isArray:
			f.ReplaceSpan(n, fmt.Sprintf("%ss%d", coarsePrefix, a.number))
		case name == "%tid.z":
			f.ReplaceSpan(n, "0")
		case name == "%ntid.z":
			f.ReplaceSpan(n, "1")
		case name == "%ctaid."+axis:
			f.ReplaceSpan(n, coarsePrefix+"b")
			numbered = true
		case name == "%nctaid."+axis:
			f.ReplaceSpan(n, coarsePrefix+"n")
		}
		return true
	})
	return numbered
}

// begin is what stands in front: the number of the thread's block, the end of those that stand for
// none, its arrays and its lanes.
func (r *besideRead) begin(axis string, n, threads, grid int) []string {
	out := pass.Fill(`
		.reg .b32 Pu, Pb, Pn, Pm, Ps<ARRAYS>;
		.reg .pred Pp;
		mov.u32 Pu, %tid.z;
		mov.u32 Pb, %ctaid.AXIS;
		mad.lo.u32 Pb, Pb, COUNT, Pu;`, "P", coarsePrefix, "AXIS", axis, "COUNT", strconv.Itoa(n),
		"ARRAYS", strconv.Itoa(len(r.arrays)+1))
	if grid > 0 {
		out = append(out, pass.Fill(`
			setp.ge.u32 Pp, Pb, GRID;
			@Pp ret;
			mov.u32 Pn, GRID;`, "P", coarsePrefix, "GRID", strconv.Itoa(grid))...)
	} else {
		out = append(out, pass.Fill(`
			mov.u32 Pn, %nctaid.AXIS;
			mul.lo.u32 Pn, Pn, COUNT;`, "P", coarsePrefix, "AXIS", axis, "COUNT", strconv.Itoa(n))...)
	}
	for _, a := range r.arrays {
		out = append(out, pass.Fill(`
			mov.u32 PsN, ARRAY;
			mad.lo.u32 PsN, Pu, STRIDE, PsN;`, "PsN", fmt.Sprintf("%ss%d", coarsePrefix, a.number),
			"P", coarsePrefix, "ARRAY", a.name, "STRIDE", strconv.Itoa(a.stride))...)
	}
	switch {
	case r.barriers && threads == pass.Warp:
		out = append(out, fmt.Sprintf("mov.u32 %sm, -1;", coarsePrefix))
	case r.barriers: // the lanes begin at u*threads, modulo a warp's
		out = append(out, pass.Fill(`
			mul.lo.u32 Pm, Pu, THREADS;
			and.b32 Pm, Pm, 31;
			shl.b32 Pm, ONES, Pm;`, "P", coarsePrefix, "THREADS", strconv.Itoa(threads),
			"ONES", strconv.Itoa(1<<threads-1))...)
	}
	return out
}
