package emulate

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"gnvcc/sim/cubin"
	"gnvcc/sim/sass"
)

// A Program is one kernel of a cubin, ready to run.
type Program struct {
	Name   string
	Facts  cubin.Kernel
	insts  []inst
	banks  map[int][]byte // constant banks, but for the launch's own part of bank 0
	places map[int]uint32 // what the link left out of instructions, by their offsets
	params int            // where the parameters begin in bank 0
	memory *Memory
}

// An inst is an instruction that can be run.
type inst struct {
	name    string
	offset  int
	bits    [2]uint64
	guard   uint8 // predicate, 7: none
	negated bool
	uniform bool // the guard is one of the warp's predicates
	once    bool // it computes for the whole warp
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
	p := &Program{Name: kernel, banks: map[int][]byte{}, params: parameters, memory: memory}
	for _, k := range facts.Kernels {
		if k.Name == kernel {
			p.Facts = k
		}
	}
	if p.Facts.Name == "" || facts.Relocatable {
		return nil, fmt.Errorf("emulate %s: the cubin has no such kernel that is linked", kernel)
	}
	if err := p.data(file); err != nil {
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

// Unknown tells whether a launch ended because an instruction is not known.
func Unknown(err error) bool {
	var u unknown
	return errors.As(err, &u)
}

// errStopped ends a launch whose Done was closed.
var errStopped = errors.New("the launch was stopped")

// endless is the error of a launch that has run more instructions than it may.
type endless struct{ error }

// Endless tells whether a launch was ended because it ran on and on.
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

// data gives variables their places, and fills the constant banks.
func (p *Program) data(file []byte) error {
	// Up to 12.x the version of the format is one that package elf does not know.
	const version = 20
	file = bytes.Clone(file)
	binary.LittleEndian.PutUint32(file[version:], uint32(elf.EV_CURRENT))
	e, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return err
	}
	symbols, err := e.Symbols()
	if err != nil {
		return err
	}
	address := make([]uint64, len(symbols)+1)
	for n, s := range symbols {
		if int(s.Section) <= 0 || int(s.Section) >= len(e.Sections) {
			continue
		}
		section := e.Sections[s.Section]
		switch {
		case strings.HasPrefix(section.Name, ".text."):
			address[n+1] = s.Value // in its section: kernels' addresses are of no use
		case strings.HasPrefix(section.Name, ".nv.global"):
			if s.Size == 0 {
				continue
			}
			start := make([]byte, s.Size)
			if section.Type != elf.SHT_NOBITS {
				if _, err := section.ReadAt(start, int64(s.Value)); err != nil {
					return err
				}
			}
			address[n+1] = p.memory.variable(s.Name, start)
		}
	}
	for _, s := range e.Sections {
		bank, of := 0, ""
		if n, _ := fmt.Sscanf(s.Name, ".nv.constant%d", &bank); n != 1 || s.Type == elf.SHT_NOBITS {
			continue
		}
		if _, of, _ = strings.Cut(s.Name[1:], "constant"+fmt.Sprint(bank)+"."); of != "" && of != p.Name {
			continue
		}
		content, err := s.Data()
		if err != nil {
			return err
		}
		content = bytes.Clone(content)
		if r := e.Section(".rela" + s.Name); r != nil {
			if err := relocate(r, content, address, e); err != nil {
				return err
			}
		}
		p.banks[bank] = content
	}
	return p.placed(e, address)
}

// placed notes which instructions hold a part of a variable's address, as they do in programs that
// were linked on the device.
func (p *Program) placed(e *elf.File, address []uint64) error {
	const low, high = 0x38, 0x39 // R_CUDA_ABS32_LO_32, R_CUDA_ABS32_HI_32: the word at byte 4
	p.places = map[int]uint32{}
	for name, size := range map[string]int{".rel.text.": 16, ".rela.text.": 24} {
		r := e.Section(name + p.Name)
		if r == nil {
			continue
		}
		list, err := r.Data()
		if err != nil {
			return err
		}
		for ; len(list) >= size; list = list[size:] {
			at, info := binary.LittleEndian.Uint64(list), binary.LittleEndian.Uint64(list[8:])
			if info>>32 >= uint64(len(address)) || address[info>>32] == 0 {
				return fmt.Errorf("%s has a relocation of what is not there", r.Name)
			}
			value := address[info>>32]
			if size == 24 {
				value += binary.LittleEndian.Uint64(list[16:])
			}
			switch uint32(info) {
			case low:
				p.places[int(at)] = uint32(value)
			case high:
				p.places[int(at)] = uint32(value >> 32)
			default:
				return fmt.Errorf("its code has a relocation of kind %d, which is not known", uint32(info))
			}
		}
	}
	return nil
}

// place puts an address into an instruction in whose place there is 0.
func (p *Program) place(s *sass.Inst) error {
	value, ok := p.places[s.Offset]
	if !ok {
		return nil
	}
	if s.Lo>>32 != 0 {
		return fmt.Errorf("the instruction at %#x has a distance from what is linked", s.Offset)
	}
	s.Lo |= uint64(value) << 32
	return nil
}

// relocate writes addresses of variables into a constant bank.
func relocate(r *elf.Section, content []byte, address []uint64, e *elf.File) error {
	list, err := r.Data()
	if err != nil {
		return err
	}
	const size, absolute64, absolute32 = 24, 2, 1
	for ; len(list) >= size; list = list[size:] {
		at, info := binary.LittleEndian.Uint64(list), binary.LittleEndian.Uint64(list[8:])
		add := binary.LittleEndian.Uint64(list[16:])
		if info>>32 >= uint64(len(address)) || at+4 > uint64(len(content)) {
			return fmt.Errorf("%s has a relocation of what is not there", r.Name)
		}
		value := address[info>>32] + add
		switch uint32(info) {
		case absolute64:
			binary.LittleEndian.PutUint64(content[at:], value)
		case absolute32:
			binary.LittleEndian.PutUint32(content[at:], uint32(value))
		default:
			return fmt.Errorf("%s has a relocation of kind %d, which is not known", r.Name, uint32(info))
		}
	}
	return nil
}
