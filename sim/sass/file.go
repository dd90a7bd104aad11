package sass

import (
	"fmt"

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
func Read(b []byte) ([]*Function, error) {
	sections, cc, err := cubin.ReadCode(b)
	if err != nil {
		return nil, err
	}
	if cc < First || cc > Last {
		return nil, fmt.Errorf("decode machine code of sm_%d: only sm_%d to sm_%d are known", cc, First,
			Last)
	}
	out := make([]*Function, 0, len(sections))
	for _, s := range sections {
		out = append(out, function(s, cc))
	}
	return out, nil
}

// Find reads one function of a cubin.
func Find(b []byte, name string) (*Function, error) {
	sections, cc, err := cubin.ReadCode(b)
	if err != nil {
		return nil, err
	}
	if cc < First || cc > Last {
		return nil, fmt.Errorf("decode machine code of sm_%d: only sm_%d to sm_%d are known", cc, First,
			Last)
	}
	for _, s := range sections {
		if s.Name == name {
			return function(s, cc), nil
		}
	}
	return nil, fmt.Errorf("decode machine code: the cubin has no function %s", name)
}

// Decode decodes bare machine code: 16-byte words without a cubin around them.
func Decode(name string, code []byte, cc int) *Function {
	return function(cubin.Code{Name: name, Kernel: true, Data: code,
		Functions: []cubin.Part{{Name: name, Size: len(code)}}}, cc)
}

func function(s cubin.Code, cc int) *Function {
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
