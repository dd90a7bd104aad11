package apply

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"

	"gnvcc/driver/splice"
	"gnvcc/driver/toolcmd"
)

// Equality of what two runs of one command wrote. Nothing counts as equal that anybody could have
// meant to be different: two runs of nvcc itself differ in the number of its process (in temporary
// names), in the build id that a linker makes from that, and with -g in the order of strings.

// maxCompared is the largest output that is compared, bytes.
const maxCompared = 2 << 30

// readOutput reads an output of a command.
func readOutput(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxCompared:
		return nil, fmt.Errorf("%s has %d bytes", path, info.Size())
	}
	return os.ReadFile(path)
}

// equalOutputs reports whether two runs of one command may have written a and b.
func equalOutputs(a, b []byte) bool {
	return len(a) == len(b) && (bytes.Equal(a, b) || bytes.Equal(canonical(a), canonical(b)))
}

// canonical blots out what differs between runs.
func canonical(content []byte) (out []byte) {
	out = toolcmd.EvenTemporary(content)
	defer func() {
		if recover() != nil { // debug/elf on what is no sound ELF file: then bytes count
			out = toolcmd.EvenTemporary(content)
		}
	}()
	f, err := elf.NewFile(bytes.NewReader(out))
	if err != nil {
		return out
	}
	for _, s := range f.Sections {
		if s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		end := s.Offset + s.FileSize
		if end < s.Offset || end > uint64(len(out)) {
			continue
		}
		text := out[s.Offset:end]
		switch {
		case s.Name == ".note.gnu.build-id":
			clear(text)
		case s.Name == ".debug_str" || s.Name == ".debug_line_str":
			copy(text, sortedStrings(text))
		case strings.HasPrefix(s.Name, ".rela.debug_") && f.Class == elf.ELFCLASS64:
			clearAddends(f, text)
		}
	}
	return out
}

// sortedStrings sorts a table of strings; GCC orders those of debug information by hashes, which
// depend on temporary names.
func sortedStrings(table []byte) []byte {
	list := bytes.SplitAfter(table, []byte{0})
	slices.SortFunc(list, bytes.Compare)
	return bytes.Join(list, nil)
}

// clearAddends blots out where debug information points into the strings.
func clearAddends(f *elf.File, table []byte) {
	symbols, err := f.Symbols()
	if err != nil {
		return
	}
	const entry = 24 // bytes of an Elf64_Rela
	for ; len(table) >= entry; table = table[entry:] {
		at := int(binary.LittleEndian.Uint64(table[8:])>>32) - 1 // Symbols leaves the first one out
		if at < 0 || at >= len(symbols) || int(symbols[at].Section) >= len(f.Sections) {
			continue
		}
		name := f.Sections[symbols[at].Section].Name
		if name == ".debug_str" || name == ".debug_line_str" {
			clear(table[16:entry])
		}
	}
}

// exceptDevice reports whether two host objects are alike but for their device code.
func exceptDevice(a, b []byte) bool {
	for _, section := range []string{".nv_fatbin", "__nv_relfatbin"} {
		x, errX := withoutSection(a, section)
		y, errY := withoutSection(b, section)
		if errX == nil && errY == nil {
			return equalOutputs(x, y)
		}
	}
	return false
}

// withoutSection empties a section of an object.
func withoutSection(object []byte, section string) ([]byte, error) {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, err
	}
	s := f.Section(section)
	if s == nil {
		return nil, fmt.Errorf("%w: no section %s", splice.ErrObject, section)
	}
	content, err := s.Data()
	if err != nil {
		return nil, err
	}
	return splice.Replace(object, section, content, nil)
}
