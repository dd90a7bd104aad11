package splice

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Splicing: the content of one section of a relocatable object is replaced by another one. The
// device code lies in a host object as a section of its own to which nothing in the object refers
// but by its beginning, so an object for other device code is the same sections, laid out anew.
//
// Layout is gas' own (bfd/elf.c, assign_file_positions_for_non_load_sections, binutils 2.35 to
// 2.40): sections one behind the other, each aligned as it asks, the table of sections last,
// aligned to 8. So what comes out is byte for byte what the assembler would have written, and that
// is what GNVCC_VERIFY=1 and the tests compare. An object that is laid out otherwise is refused,
// before anything is kept of it.

// Sizes of ELF64, and where its header names the section table; bytes.
const (
	elfHeader     = 64
	elfSection    = 64
	elfTableAt    = 40 // e_shoff
	elfTableAlign = 8
	sectionAt     = 24 // sh_offset
	sectionSize   = 32 // sh_size
)

var ErrObject = errors.New("not an object that can be spliced")

// A sectionPart is one section of an object in the order of the file.
type sectionPart struct {
	index               int
	kind                elf.SectionType
	offset, size, align uint64
}

// Replace replaces the content of a section. was is what has to be there, nil for an empty one.
func Replace(object []byte, section string, was, now []byte) ([]byte, error) {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrObject, err)
	}
	if f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB || f.Type != elf.ET_REL ||
		len(f.Progs) > 0 {
		return nil, fmt.Errorf("%w: it is no relocatable object of a 64-bit little-endian machine",
			ErrObject)
	}
	table := binary.LittleEndian.Uint64(object[elfTableAt:])
	if n := uint64(len(f.Sections)) * elfSection; table > uint64(len(object)) ||
		uint64(len(object))-table != n {
		return nil, fmt.Errorf("%w: its table of sections is not its end", ErrObject)
	}
	parts, target, err := partsOf(f, section)
	if err != nil {
		return nil, err
	}
	if err := onlyItsBeginning(f, target); err != nil {
		return nil, err
	}
	out := make([]byte, elfHeader, len(object)+len(now))
	copy(out, object)
	at := uint64(elfHeader) // in the old file
	headers := slices.Clone(object[table:])
	for _, p := range parts {
		if at = (at + p.align - 1) / p.align * p.align; p.offset != at {
			return nil, fmt.Errorf("%w: section %d begins at %d, gas would have put it at %d", ErrObject,
				p.index, p.offset, at)
		}
		for uint64(len(out))%p.align != 0 {
			out = append(out, 0)
		}
		header := headers[p.index*elfSection:]
		binary.LittleEndian.PutUint64(header[sectionAt:], uint64(len(out)))
		if p.kind == elf.SHT_NOBITS {
			continue
		}
		if p.size > uint64(len(object)) || at+p.size > uint64(len(object)) {
			return nil, fmt.Errorf("%w: section %d is longer than the file", ErrObject, p.index)
		}
		content := object[at : at+p.size]
		if p.index == target {
			if !bytes.Equal(content, was) {
				return nil, fmt.Errorf("%w: section %s holds something else besides", ErrObject, section)
			}
			content = now
			binary.LittleEndian.PutUint64(header[sectionSize:], uint64(len(now)))
		}
		out = append(out, content...)
		at += p.size
	}
	if at = (at + elfTableAlign - 1) / elfTableAlign * elfTableAlign; at != table {
		return nil, fmt.Errorf("%w: something lies between its sections and their table", ErrObject)
	}
	for len(out)%elfTableAlign != 0 {
		out = append(out, 0)
	}
	binary.LittleEndian.PutUint64(out[elfTableAt:], uint64(len(out)))
	return append(out, headers...), nil
}

// partsOf lists an object's sections in the order of the file, and gives the index of the one of a
// name.
func partsOf(f *elf.File, section string) (parts []sectionPart, target int, err error) {
	target = -1
	for i, s := range f.Sections {
		if s.Type == elf.SHT_NULL {
			continue
		}
		if s.Flags&elf.SHF_COMPRESSED != 0 {
			return nil, 0, fmt.Errorf("%w: section %s is compressed", ErrObject, s.Name)
		}
		if s.Name == section {
			if target >= 0 {
				return nil, 0, fmt.Errorf("%w: two sections %s", ErrObject, section)
			}
			if s.Type != elf.SHT_PROGBITS || s.Flags != elf.SHF_ALLOC || s.Addralign != 8 {
				return nil, 0, fmt.Errorf("%w: section %s is not just data", ErrObject, section)
			}
			target = i
		}
		parts = append(parts, sectionPart{index: i, kind: s.Type, offset: s.Offset, size: s.FileSize,
			align: max(s.Addralign, 1)})
	}
	if target < 0 {
		return nil, 0, fmt.Errorf("%w: no section %s", ErrObject, section)
	}
	slices.SortStableFunc(parts, func(a, b sectionPart) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), a.index-b.index)
	})
	return parts, target, nil
}

// onlyItsBeginning checks that nothing in an object depends on how long a section is: no symbol
// lies inside it, no relocation points into it or stands in it.
func onlyItsBeginning(f *elf.File, target int) error {
	symbols, err := f.Symbols()
	if err != nil {
		return fmt.Errorf("%w: its symbols: %w", ErrObject, err)
	}
	inside := map[uint32]bool{} // symbols of the section
	for i, s := range symbols {
		if int(s.Section) == target {
			if s.Value != 0 || s.Size != 0 {
				return fmt.Errorf("%w: symbol %s lies inside section %s", ErrObject, s.Name,
					f.Sections[target].Name)
			}
			inside[uint32(i+1)] = true // elf.File leaves the first, empty one out
		}
		if s.Section == elf.SHN_XINDEX {
			return fmt.Errorf("%w: too many sections", ErrObject)
		}
	}
	for _, s := range f.Sections {
		switch s.Type {
		case elf.SHT_REL:
			return fmt.Errorf("%w: relocations without addends", ErrObject)
		case elf.SHT_RELA:
			if int(s.Info) == target {
				return fmt.Errorf("%w: section %s has relocations", ErrObject, f.Sections[target].Name)
			}
			text, err := s.Data()
			if err != nil {
				return fmt.Errorf("%w: section %s: %w", ErrObject, s.Name, err)
			}
			const entry = 24
			for ; len(text) >= entry; text = text[entry:] {
				symbol := uint32(binary.LittleEndian.Uint64(text[8:]) >> 32)
				if addend := binary.LittleEndian.Uint64(text[16:]); inside[symbol] && addend != 0 {
					return fmt.Errorf("%w: a relocation points into section %s", ErrObject,
						f.Sections[target].Name)
				}
			}
		}
	}
	return nil
}

// A Fatbin is the device code in a host file: fatbinary writes it as an asm statement,
//
//	asm(
//	".section .nv_fatbin, \"a\"\n"
//	".align 8\n"
//	"fatbinData:\n"
//	".quad 0x00100001ba55ed50,0x0000000000020f90\n"
//	".text\n");
//	...
//	extern const unsigned long long fatbinData[2];
//
// (the same from 11.8 to 13.5; with -rdc=true the section is __nv_relfatbin).
type Fatbin struct {
	Section string
	Data    []byte
	// the text without the data, which stood between the two, and without the array's length
	Before string
	After  string
}

var errFatbin = errors.New("the device code has an unknown format")

// CutFatbin takes the device code out of preprocessed host code.
func CutFatbin(text string) (*Fatbin, error) {
	const (
		label    = "\n\"fatbinData:\\n\"\n"
		align    = "\n\".align 8\\n\""
		section  = "asm(\n\".section "
		flags    = ", \\\"a\\\"\\n\""
		quad     = "\".quad "
		last     = "\\n\"\n"
		end      = "\".text\\n\");"
		declared = "extern const unsigned long long fatbinData["
	)
	before, rest, ok := strings.Cut(text, label)
	if !ok || strings.Contains(rest, label) {
		return nil, errFatbin
	}
	f := &Fatbin{Before: before + label}
	if before, ok = strings.CutSuffix(before, align); !ok {
		return nil, errFatbin
	}
	at := strings.LastIndex(before, section)
	if at < 0 {
		return nil, errFatbin
	}
	if f.Section, ok = strings.CutSuffix(before[at+len(section):], flags); !ok || f.Section == "" ||
		strings.ContainsAny(f.Section, " \t\r\n\\\",") {
		return nil, errFatbin
	}
	for strings.HasPrefix(rest, quad) {
		line, more, ok := strings.Cut(rest[len(quad):], last)
		if !ok {
			return nil, errFatbin
		}
		for line != "" {
			var number string
			number, line, _ = strings.Cut(line, ",")
			value, ok := readQuad(number)
			if !ok {
				return nil, fmt.Errorf("%w: .quad %.40q", errFatbin, number)
			}
			f.Data = binary.LittleEndian.AppendUint64(f.Data, value)
		}
		rest = more
	}
	if len(f.Data) == 0 || !strings.HasPrefix(rest, end) {
		return nil, errFatbin
	}
	between, rest, ok := strings.Cut(rest, declared)
	if !ok {
		return nil, errFatbin
	}
	length, rest, ok := strings.Cut(rest, "];")
	if !ok || length != fmt.Sprint(len(f.Data)/8) {
		return nil, fmt.Errorf("%w: an array of %.40q words for %d", errFatbin, length, len(f.Data)/8)
	}
	f.After = between + declared + "];" + rest
	return f, nil
}

// readQuad reads 0x and 16 digits. A space stands before the last word where a line is not full.
func readQuad(text string) (uint64, bool) {
	digits, ok := strings.CutPrefix(strings.TrimPrefix(text, " "), "0x")
	if !ok || len(digits) != 16 || strings.Trim(digits, "0123456789abcdef") != "" {
		return 0, false
	}
	v, err := strconv.ParseUint(digits, 16, 64)
	return v, err == nil
}
