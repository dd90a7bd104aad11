package fatbin

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Kind is what a file is, by its first bytes.
type Kind int

// What files may hold device code.
const (
	None    Kind = iota
	Cubin        // a cubin by itself
	Fat          // a fat binary by itself
	Object       // a host object, not linked
	Archive      // objects in an archive
	Linked       // a program or shared library
)

// Enough is how many bytes KindOf wants.
const Enough = 20

const machineCUDA = 190 // EM_CUDA

// KindOf says what a file is from how it begins.
func KindOf(begin []byte) Kind {
	le := binary.LittleEndian
	switch {
	case len(begin) < Enough:
		return None
	case bytes.HasPrefix(begin, []byte("!<arch>\n")):
		return Archive
	case le.Uint32(begin) == magic:
		return Fat
	case !bytes.HasPrefix(begin, []byte(elf.ELFMAG)) || begin[elf.EI_CLASS] != byte(elf.ELFCLASS64) ||
		begin[elf.EI_DATA] != byte(elf.ELFDATA2LSB):
		return None
	case le.Uint16(begin[18:]) == machineCUDA:
		return Cubin
	case elf.Type(le.Uint16(begin[16:])) == elf.ET_REL:
		return Object
	}
	return Linked
}

// Each gives the cubins in a file of a size, in the file's order. The bytes are the caller's. A
// file without device code has none.
func Each(r io.ReaderAt, size int64, take func(cubin []byte) error) error {
	begin := make([]byte, Enough)
	if _, err := r.ReadAt(begin, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch KindOf(begin) {
	case Cubin, Fat:
		if size > maxImage {
			return fmt.Errorf("%w: %d bytes", errForm, size)
		}
		content := make([]byte, size)
		if n, err := r.ReadAt(content, 0); int64(n) != size {
			return err
		}
		if KindOf(begin) == Cubin {
			return take(content)
		}
		return entries(content, take)
	case Object, Linked:
		return sections(r, take)
	case Archive:
		return members(r, size, take)
	}
	return nil
}

// Sections that hold fat binaries: what is loaded, and with -rdc=true what is still to be linked.
const (
	sectionFat   = ".nv_fatbin"
	sectionReloc = "__nv_relfatbin"
)

// sections gives the cubins of a host file. One may have several sections of a name: objects that
// were joined (ld -r) with groups, say.
func sections(r io.ReaderAt, take func([]byte) error) (err error) {
	defer func() {
		if p := recover(); p != nil { // debug/elf on what is no sound ELF file
			err = fmt.Errorf("read ELF file: %v", p)
		}
	}()
	f, err := elf.NewFile(r)
	if err != nil {
		return fmt.Errorf("read ELF file: %w", err)
	}
	for _, s := range f.Sections {
		if s.Name != sectionFat && s.Name != sectionReloc || s.Type == elf.SHT_NOBITS {
			continue
		}
		content, err := s.Data()
		if err != nil {
			return fmt.Errorf("section %s: %w", s.Name, err)
		}
		if err := entries(content, take); err != nil {
			return fmt.Errorf("section %s: %w", s.Name, err)
		}
	}
	return nil
}

// members gives the cubins of an archive's members. The names do not matter.
func members(r io.ReaderAt, size int64, take func([]byte) error) error {
	const header = 60
	for at := int64(8); at+header <= size; {
		h := make([]byte, header)
		if _, err := r.ReadAt(h, at); err != nil {
			return err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(h[48:58])), 10, 64)
		if err != nil || n < 0 || h[58] != '`' || n > size-at-header {
			return fmt.Errorf("read archive: a member's header at %d is damaged", at)
		}
		at += header
		begin := make([]byte, Enough)
		got, _ := r.ReadAt(begin[:min(n, Enough)], at)
		if k := KindOf(begin[:got]); k != None && k != Archive {
			if err := Each(io.NewSectionReader(r, at, n), n, take); err != nil {
				return err
			}
		}
		at += n + n&1
	}
	return nil
}
