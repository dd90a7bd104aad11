package emulate

import (
	"errors"
	"fmt"

	"gnvcc/sim/cubin"
	"gnvcc/sim/sass"
)

// A Program is one kernel of a cubin, ready to run.
type Program struct {
	Name  string
	Facts cubin.Kernel
	insts []inst
	code  *cubin.Loaded
}

// An inst is an instruction that can be run.
type inst struct {
	name    string
	offset  int
	bits    [2]uint64
	guard   uint8 // predicate, 7: none
	negated bool
	uniform bool // the guard is one of the warp's predicates
	once    bool // it computes for the warp
	// One of three says what it does: for one thread, for those of a warp that run it, or to the
	// program counter.
	lane func(w *warp, l int)
	warp func(w *warp, on uint32) error
	flow func(w *warp, g *group, on uint32) error
}

// An Instruction is one of a program's, as nvdisasm names it.
type Instruction struct {
	Name   string
	Offset int
	Bits   [2]uint64
}

// Instructions are all of a program, by place.
func (p *Program) Instructions() (out []Instruction) {
	for _, i := range p.insts {
		out = append(out, Instruction{i.name, i.offset, i.bits})
	}
	return out
}

// parameters is where bank 0 has them on sm_90; before it stand sizes and addresses of the launch.
const parameters = 0x210

// Load reads a kernel of a cubin for sm_90. Its variables are given places in memory: the same as
// those of another program with variables of these names.
func Load(file []byte, kernel string, memory *Memory) (*Program, error) {
	f, err := sass.Find(file, kernel)
	if err != nil {
		return nil, err
	}
	if f.CC != 90 {
		return nil, fmt.Errorf("emulate %s: it is for sm_%d, and sm_90 alone is known", kernel, f.CC)
	}
	facts, err := cubin.Read(file)
	if err != nil {
		return nil, err
	}
	p := &Program{Name: kernel}
	var found bool
	if p.Facts, found = facts.Kernel(kernel); !found || facts.Relocatable {
		return nil, fmt.Errorf("emulate %s: the cubin has no such kernel that is linked", kernel)
	}
	if p.code, err = cubin.Load(file, kernel, memory.variable); err != nil {
		return nil, fmt.Errorf("emulate %s: %w", kernel, err)
	}
	for k := range f.Insts {
		if err := p.place(&f.Insts[k]); err != nil {
			return nil, fmt.Errorf("emulate %s: %w", kernel, err)
		}
		i, err := p.decode(&f.Insts[k])
		if err != nil {
			// An error only where it is run: behind the code stands what fills a cache line.
			i.warp = func(*warp, uint32) error { return err }
		}
		p.insts = append(p.insts, i)
	}
	return p, nil
}

// decode reads one instruction.
func (p *Program) decode(s *sass.Inst) (inst, error) {
	d := &decoder{Inst: s, program: p}
	i := inst{name: s.Name(), offset: s.Offset, bits: [2]uint64{s.Lo, s.Hi}, guard: s.Guard, negated: s.Negated}
	if i.once = d.scalar(); i.once {
		d.skip(91, 1)
	}
	const votes, special = 0x086, 0x1c3
	i.uniform = i.once && d.code() != votes || d.code() == special
	if i.name == "" {
		i.name = fmt.Sprintf("operation %#x", s.Lo&0xfff)
	}
	read := instructions[d.code()]
	if read == nil {
		d.refuse("it is not known")
	} else {
		read(d, &i)
		d.rest()
	}
	if d.err != nil {
		return inst{name: i.name, offset: i.offset, bits: i.bits, guard: 7}, unknown{fmt.Errorf(
			"%s (%016x %016x) can't be emulated: %w", i.name, s.Hi, s.Lo, d.err)}
	}
	return i, nil
}

// unknown is the error of an instruction that is not known.
type unknown struct{ error }

// Unknown reports whether a launch ended because an instruction is not known.
func Unknown(err error) bool {
	var u unknown
	return errors.As(err, &u)
}

// errStopped ends a launch whose Done was closed.
var errStopped = errors.New("the launch was stopped")

// endless is the error of a launch that has run more instructions than it may.
type endless struct{ error }

// Endless reports whether a launch was ended because it ran on and on.
func Endless(err error) bool {
	var e endless
	return errors.As(err, &e)
}

// instructions are the readers of all that is known, by the low nine bits of a word.
var instructions map[uint16]func(d *decoder, i *inst)

func init() {
	instructions = map[uint16]func(d *decoder, i *inst){}
	for _, list := range []map[uint16]func(*decoder, *inst){integerOps, floatOps, convertOps, halfOps,
		memoryOps, acrossOps, flowOps} {
		for code, read := range list {
			if instructions[code] != nil {
				panic(fmt.Sprintf("emulate: two readers of operation %#x", code))
			}
			instructions[code] = read
		}
	}
}

// place puts an address into an instruction in whose place there is 0.
func (p *Program) place(s *sass.Inst) error {
	value, ok := p.code.Words[s.Offset]
	if !ok {
		return nil
	}
	if s.Lo>>32 != 0 {
		return fmt.Errorf("the instruction at %#x has a distance from what is linked", s.Offset)
	}
	s.Lo |= uint64(value) << 32
	return nil
}
