package sass

import (
	"fmt"
	"slices"

	"gnvcc/sim/cubin"
)

// First and Last are the compute capabilities whose words this package reads.
const (
	First = 75
	Last  = 121
)

// A Function is one code section: a kernel (or a device function that a linker will move) with the
// functions behind it.
type Function struct {
	Name    string
	Kernel  bool
	CC      int
	Insts   []Inst
	Parts   []cubin.Part
	Unknown int // instructions with an operation that the table does not have
	jumps   map[int][]int
}

// mostUnknown is the share of unknown operations above which nothing is said about a function.
const mostUnknown = 0.02

// Read decodes all functions of a cubin. It fails on files that are no cubin and on architectures
// that it does not know.
func Read(b []byte) (out []*Function, err error) {
	sections, cc, err := sections(b)
	for _, s := range sections {
		out = append(out, Decode(s, cc))
	}
	return out, err
}

// Find reads one function of a cubin.
func Find(b []byte, name string) (*Function, error) {
	sections, cc, err := sections(b)
	if err != nil {
		return nil, err
	}
	n := slices.IndexFunc(sections, func(s cubin.Code) bool { return s.Name == name })
	if n < 0 {
		return nil, fmt.Errorf("decode machine code: the cubin has no function %s", name)
	}
	return Decode(sections[n], cc), nil
}

func sections(b []byte) ([]cubin.Code, int, error) {
	list, cc, err := cubin.ReadCode(b)
	if err == nil && (cc < First || cc > Last) {
		return nil, 0, fmt.Errorf("decode machine code of sm_%d: only sm_%d to sm_%d are known", cc, First,
			Last)
	}
	return list, cc, err
}

// Decode decodes the machine code of one section.
func Decode(s cubin.Code, cc int) *Function {
	f := &Function{Name: s.Name, Kernel: s.Kernel, CC: cc, Parts: s.Functions, jumps: s.Jumps}
	f.Insts = make([]Inst, 0, len(s.Data)/wordBytes)
	for at := 0; at+wordBytes <= len(s.Data); at += wordBytes {
		i := decode(word(s.Data[at:]), at, cc)
		if i.op == nil {
			f.Unknown++
		}
		f.Insts = append(f.Insts, i)
	}
	return f
}

// Known fails where too much of the function is unknown to say anything about it.
func (f *Function) Known() error {
	if n := len(f.Insts); n == 0 || float64(f.Unknown) > mostUnknown*float64(n) {
		return fmt.Errorf("%d of %d instructions of %s (sm_%d) are unknown", f.Unknown, n, f.Name, f.CC)
	}
	return nil
}
