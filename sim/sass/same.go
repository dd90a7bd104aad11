package sass

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"gnvcc/sim/cubin"
)

// SameEntries reports whether two kernels, of one cubin or of two for one architecture, compute with
// the same floating-point instructions: each operation, with its rounding and all else that bears on
// the result, as often. Registers, order and what is not floating-point may differ. The error says
// what does; an error too where one of them can't be decoded. Where their code is the same word for
// word, it is not decoded.
//
// It looks at all of the kernel's section, and at all functions of the file that are no kernels
// where the kernel calls any that stand elsewhere. Equal instructions are necessary for equal bits,
// not sufficient: which product goes into which sum is not compared here.
func SameEntries(was []byte, kernel string, is []byte, entry string) error {
	a, err := codeOf(was, kernel)
	if err != nil {
		return err
	}
	b, err := codeOf(is, entry)
	if err != nil {
		return err
	}
	if a != nil && bytes.Equal(a, b) {
		return nil
	}
	return sameFloats(was, kernel, is, entry)
}

// codeOf is a kernel's machine code, nil where the cubin has none of that name.
func codeOf(file []byte, kernel string) ([]byte, error) {
	code, _, err := cubin.ReadCode(file)
	if err != nil {
		return nil, fmt.Errorf("read the code of %s: %w", kernel, err)
	}
	for _, c := range code {
		if c.Name == kernel {
			return c.Data, nil
		}
	}
	return nil, nil
}

func sameFloats(was []byte, kernel string, is []byte, entry string) error {
	a, err := floatsOf(was, kernel)
	if err != nil {
		return fmt.Errorf("compare the floating-point instructions of %s: %w", kernel, err)
	}
	b, err := floatsOf(is, entry)
	if err != nil {
		return fmt.Errorf("compare the floating-point instructions of %s: %w", entry, err)
	}
	if a.cc != b.cc {
		return fmt.Errorf("compare the floating-point instructions of %s: sm_%d and sm_%d", kernel, a.cc,
			b.cc)
	}
	if d := difference(a.count, b.count); d != "" {
		return fmt.Errorf("%s has other floating-point instructions: %s", entry, d)
	}
	return nil
}

type floats struct {
	cc    int
	count map[Float]int
}

func floatsOf(cubin []byte, kernel string) (floats, error) {
	all, err := Read(cubin)
	if err != nil {
		return floats{}, err
	}
	out := floats{count: map[Float]int{}}
	var own *Function
	for _, f := range all {
		if f.Name == kernel {
			own = f
		}
	}
	if own == nil {
		return floats{}, fmt.Errorf("the cubin has no function of that name")
	}
	out.cc = own.CC
	add := func(f *Function) error {
		if f.Unknown > 0 { // here not one may be unknown: it could compute
			return fmt.Errorf("%d of %d instructions of %s (sm_%d) are unknown", f.Unknown, len(f.Insts),
				f.Name, f.CC)
		}
		for _, x := range f.Floats() {
			out.count[x]++
		}
		return nil
	}
	if err := add(own); err != nil {
		return floats{}, err
	}
	if !own.leaves() {
		return out, nil
	}
	for _, f := range all {
		if !f.Kernel {
			if err := add(f); err != nil {
				return floats{}, err
			}
		}
	}
	return out, nil
}

// leaves reports whether the function calls code outside its section, or may.
func (f *Function) leaves() bool {
	for n := range f.Insts {
		i := &f.Insts[n]
		if i.op == nil || i.Name() == "CALL" && !f.within(i) {
			return true
		}
	}
	return false
}

// within reports whether an instruction calls a function of the section: ptxas' own divisions stand
// there. A call of another section is relocated: until then it points to itself or nowhere; one by
// CALL.ABS goes through a register.
func (f *Function) within(i *Inst) bool {
	return i.op != nil && i.op.code == 0x144 && i.Target >= 0 &&
		i.Target < len(f.Insts)*wordBytes && f.starts(i.Target)
}

// starts reports whether a function of the section begins at an offset.
func (f *Function) starts(at int) bool {
	n := sort.Search(len(f.Parts), func(n int) bool { return f.Parts[n].Offset >= at })
	return n < len(f.Parts) && f.Parts[n].Offset == at
}

// difference lists what differs, the first few.
func difference(a, b map[Float]int) string {
	var out []string
	for x, n := range a {
		if b[x] != n {
			out = append(out, fmt.Sprintf("%s %d times, was %d", x, b[x], n))
		}
	}
	for x, n := range b {
		if _, known := a[x]; !known {
			out = append(out, fmt.Sprintf("%s %d times, was 0", x, n))
		}
	}
	sort.Strings(out)
	const most = 4
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return strings.Join(out, ", ")
}
