package rewrite

import (
	"errors"
	"fmt"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/refuse"
)

// index=XxYxZ computes thread and block numbers in blocks of that size from the index over the
// whole grid, so that shape may launch a second entry of a kernel in blocks of any size that sees
// its own.
//
//	mov.u32 %r1, %ctaid.x;      mov.u32 %gnvcc_i0, %ctaid.x;
//	mov.u32 %r2, %tid.x;        mov.u32 %gnvcc_i1, %ntid.x;
//	mov.u32 %r3, %ntid.x;       mov.u32 %gnvcc_i2, %tid.x;
//	                            mad.lo.u32 %gnvcc_i3, %gnvcc_i0, %gnvcc_i1, %gnvcc_i2;
//	                            (%gnvcc_i4 = %gnvcc_i3 / 160, by a multiplication and a shift)
//	                            mul.lo.u32 %gnvcc_i5, %gnvcc_i4, 160;
//	                            sub.u32 %gnvcc_i6, %gnvcc_i3, %gnvcc_i5;
//	                            mov.u32 %r1, %gnvcc_i4;
//	                            mov.u32 %r2, %gnvcc_i6;
//	                            mov.u32 %r3, 160;
//
// A program whose block is a row or a plane of its data has as many threads in a block as that is
// long, whatever fills a multiprocessor: NPB LU has 160 blocks of 160 threads, of which an H200's
// 132 multiprocessors have one each and 28 have two.
//
// Allowed where the threads of a block do not act together, in any of the ways that shape is
// refused for, and where no function that is called reads the numbers: the same proof
// (dataflow.IndexOnly) is made of the text as it is afterwards. The recipe has shape, and
// host(block)=XxYxZ of this size.
//
// Safe: with B threads in the kernel's blocks, in a dimension, the thread with index f is thread
// f % B of block f / B; f counts 0 to all threads, whatever the blocks are, and shape does not take
// launches of 2^31 threads and more. So for each thread of the kernel there is one that has its
// numbers, and does what it did. Checked: ptxas works on the kernel anew, and a kernel with a race
// between threads that happened to be of one warp could come out otherwise.
//
// From: "virtual blocks", as programmers write them by hand where a launch is not theirs to change.
func index(k *pass.Kernel, terms []recipe.Term) error {
	value, err := pass.Only(terms)
	if err != nil {
		return err
	}
	block, err := blockOf("index", value)
	if err != nil {
		return err
	}
	if k.Options.Blocks[k.Name] == [3]int{} {
		return errors.New("it is for a second entry, which the host launches for such blocks alone")
	}
	fixed := refuse.Fixed{}
	for i, axis := range []string{"x", "y", "z"} {
		fixed["ntid."+axis] = int64(block[i])
		if block[i] == 1 {
			fixed["tid."+axis] = 0
		}
	}
	if err := refuse.Undefined(k.Module, k.Name, fixed); err != nil {
		return err
	}
	return numberThreads(k.Module, k.Func, block)
}

const indexMark = "%gnvcc_i"

// numberThreads does it, and asks whether the kernel sees nothing of its launch's shape then.
func numberThreads(m *ptx.Module, f *ptx.Func, block [3]int) error {
	if strings.Contains(string(f.Text()), indexMark) {
		return fmt.Errorf("it has registers %s", indexMark)
	}
	n := numbering{block: block, stands: map[string]string{}}
	for i, s := range f.Stmts {
		if s.Kind != ptx.Inst {
			continue
		}
		f.Effects(i, func(name ptx.Span, read, write bool) {
			if word := string(f.Bytes(name)); dataflow.OfShape(word) {
				f.ReplaceSpan(name, n.of(word))
			}
		})
	}
	if len(n.lines) > 0 {
		f.Insert(f.First(), fmt.Sprintf(".reg .b32 %s<%d>;\n\t.reg .b32 %sd32_<3>;\n\t", indexMark,
			n.used, indexMark)+strings.Join(n.lines, "\n\t"))
	}
	if err := f.Commit(); err != nil {
		return fmt.Errorf("write thread numbers: %w", err)
	}
	if _, err := dataflow.IndexOnly(m, f.Name); err != nil {
		return fmt.Errorf("its threads act together, or others see their numbers: %w", err)
	}
	return nil
}

// A numbering is what computes the numbers that a kernel reads.
type numbering struct {
	block  [3]int
	stands map[string]string // what stands for a special register
	lines  []string
	used   int // registers
}

// of is what stands for a special register.
func (n *numbering) of(name string) string {
	what, axis, _ := strings.Cut(name, ".")
	size := n.block[strings.Index("xyz", axis)]
	if of := n.stands[name]; of != "" {
		return of
	} else if what == "%ntid" {
		return fmt.Sprint(size)
	}
	var p [7]string // each has one value: the proof goes by registers
	for i := range p {
		p[i] = fmt.Sprintf("%s%d", indexMark, n.used)
		n.used++
	}
	quotient := "mov.u32 P4, P3;"
	if size > 1 {
		quotient = strings.ReplaceAll(strings.Join(dividedBy(int64(size), 32, false, false, p[4], p[3]),
			"\n"), divideMark, indexMark+"d")
	}
	text := `
		mov.u32 P0, %ctaid.D;
		mov.u32 P1, %ntid.D;
		mov.u32 P2, %tid.D;
		mad.lo.u32 P3, P0, P1, P2;
		` + quotient + `
		mul.lo.u32 P5, P4, SIZE;
		sub.u32 P6, P3, P5;`
	if what == "%nctaid" {
		text = `
		mov.u32 P0, %nctaid.D;
		mov.u32 P1, %ntid.D;
		mul.lo.u32 P3, P0, P1;
		` + quotient
		n.stands[name] = p[4]
	} else {
		n.stands["%ctaid."+axis], n.stands["%tid."+axis] = p[4], p[6]
	}
	n.lines = append(n.lines, pass.Fill(text, "P0", p[0], "P1", p[1], "P2", p[2], "P3", p[3],
		"P4", p[4], "P5", p[5], "P6", p[6], ".D", "."+axis, "SIZE", fmt.Sprint(size))...)
	return n.stands[name]
}

// Index gives the block whose numbers a recipe for one second entry computes, zeros where it
// computes none.
func Index(r recipe.Recipe) [3]int {
	value, ok := r.Get("index", "")
	if !ok {
		return [3]int{}
	}
	block, _ := blockOf("index", value) // Check has seen it
	return block
}

// checkIndex looks at a recipe with one spec term or none.
func checkIndex(r recipe.Recipe) error {
	value, ok := r.Get("index", "")
	if !ok {
		return nil
	}
	block, err := blockOf("index", value)
	if err != nil {
		return err
	}
	if _, coarse := r.Get("coarsen", ""); coarse {
		return fmt.Errorf("recipe %q: coarsen counts on blocks that are the kernel's", r)
	}
	guards, err := r.Guards()
	if err != nil {
		return err
	}
	if len(guards) == 0 && !r.HasCopy() {
		return nil
	}
	if len(guards) != 1 || !r.HasSecond() || guards[0].Block() != block {
		return fmt.Errorf("recipe %q: index is for a second entry for such blocks: spec{host(block)=%s}", r,
			value)
	}
	return nil
}
