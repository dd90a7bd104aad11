package sass

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A regSet is a set of registers of one file.
type regSet [4]uint64

func (s *regSet) add(x Span) {
	for n := range int(x.N) {
		if r := int(x.First) + n; r < 255 {
			s[r/64] |= 1 << (r % 64)
		}
	}
}

// Has reports whether a register is in the set.
func (s *regSet) Has(r int) bool { return s[r/64]>>(r%64)&1 == 1 }

// live are registers of both files.
type live [2]regSet

func (l *live) union(o *live) bool {
	changed := false
	for f := range l {
		for w := range l[f] {
			if n := l[f][w] | o[f][w]; n != l[f][w] {
				l[f][w], changed = n, true
			}
		}
	}
	return changed
}

// pending are the registers whose value is on its way, by scoreboard.
type pending [6]live

func (p *pending) union(o *pending) bool {
	changed := false
	for b := range p {
		if p[b].union(&o[b]) {
			changed = true
		}
	}
	return changed
}

// step runs one instruction: it waits, it reads and writes, it sets scoreboards. It returns a
// register that is used without having been waited for.
func (p *pending) step(i *Inst) string {
	for b := range p {
		if i.Wait>>b&1 == 1 {
			p[b] = live{}
		}
	}
	if i.Name() == "DEPBAR" {
		*p = pending{}
	}
	bad := ""
	for k, spans := range [][]Span{reads(i), i.Writes()} {
		if k == 1 && i.Class() == Load {
			break // loads of one kind come back in order: a later one may write the register without a wait
		}
		for _, s := range spans {
			for n := range int(s.N) {
				for b := range p {
					if r := int(s.First) + n; r < 255 && p[b][s.File].Has(r) && b != i.Write {
						bad = fmt.Sprintf("register %d of file %d, scoreboard %d", r, s.File, b)
					}
				}
			}
		}
	}
	if i.Write < len(p) {
		for _, s := range i.Writes() {
			p[i.Write][s.File].add(s)
		}
	}
	return bad
}

// unwaited counts, over all ways through a function, uses of slow results without a wait, and waits
// for a scoreboard that nothing sets.
func unwaited(f *Function) (uses, waits int, example string) {
	flow := f.Flow()
	in := make([]pending, len(flow.Blocks))
	set := 0
	for k := range f.Insts {
		i := &f.Insts[k]
		for _, b := range []int{i.Write, i.Read} {
			if b < 6 {
				set |= 1 << b
			}
		}
	}
	work := make([]int, len(in))
	for b := range work {
		work[b] = len(work) - 1 - b
	}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		p := in[b]
		for k := flow.Blocks[b].Start; k < flow.Blocks[b].End; k++ {
			p.step(&f.Insts[k])
		}
		for _, n := range flow.Blocks[b].Next {
			if in[n].union(&p) {
				work = append(work, n)
			}
		}
	}
	for b := range in {
		p := in[b]
		for k := flow.Blocks[b].Start; k < flow.Blocks[b].End; k++ {
			i := &f.Insts[k]
			if i.Wait&^set != 0 {
				waits++
			}
			if bad := p.step(i); bad != "" {
				uses++
				example = fmt.Sprintf("%s+%#x %s: %s", f.Name, i.Offset, i.Name(), bad)
			}
		}
	}
	return uses, waits, example
}

func TestKeptControl(t *testing.T) {
	dir := os.Getenv("GNVCC_SASS")
	if dir == "" {
		t.Skip("SKIPPED: GNVCC_SASS names no folder of cubins")
	}
	all, _ := filepath.Glob(filepath.Join(dir, "cub", "*.cubin"))
	functions, insts, bad, badWaits := 0, 0, 0, 0
	for _, file := range all {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fs, err := Read(code)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fs {
			functions++
			insts += len(f.Insts)
			u, w, example := unwaited(f)
			bad += u
			badWaits += w
			if u > 0 && os.Getenv("SHOW") != "" {
				fmt.Println(filepath.Base(file), u, example)
			}
		}
	}
	if functions == 0 || bad+badWaits > 0 {
		t.Errorf("%d functions; see the next line", functions)
	}
	t.Logf(
		"%d functions, %d instructions: %d uses of slow results without a wait, %d waits without a setter", functions, insts, bad, badWaits)
}
