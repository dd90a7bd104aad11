package splice

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
)

// assembleTo writes and assembles a file, and gives the object.
func assembleTo(t *testing.T, text string, flags ...string) []byte {
	t.Helper()
	as, err := exec.LookPath("as")
	if err != nil {
		t.Skip("SKIPPED: no assembler here")
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.o")
	drivertest.Write(t, in, text)
	if said, err := exec.Command(as, append(flags, "-o", out, in)...).CombinedOutput(); err != nil {
		t.Fatalf("as: %v\n%s", err, said)
	}
	object, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// host is an object's assembly with device code of n words.
func hostAssembly(n int, more string) (text string, data []byte) {
	var b strings.Builder
	b.WriteString(
		"\t.file \"tmpxft_0000abcd_00000000-6_a.cudafe1.cpp\"\n\t.text\n\t.globl f\nf:\tnop\n\tret\n\t.section .nv_fatbin, \"a\"\n\t.align 8\nfatbinData:\n")
	for i := range n {
		fmt.Fprintf(&b, "\t.quad 0x%x\n", 0x1234567890+i)
		data = binary.LittleEndian.AppendUint64(data, uint64(0x1234567890+i))
	}
	b.WriteString(
		"\t.text\ng:\tcall f\n\t.section .nvFatBinSegment,\"aw\"\n\t.align 8\n\t.long 1\n\t.long 2\n\t.quad fatbinData\n\t.quad 0\n" +
			"\t.section .tiny,\"a\"\n\t.byte 1\n\t.bss\n\t.align 32\n\t.skip 40\n\t.section .empty,\"a\"\n\t.section .wide,\"a\"\n\t.align 64\n\t.byte 7\n" + more)
	return b.String(), data
}

// TestSplice: an object with other device code put in is the assembler's own, byte for byte.
func TestSplice(t *testing.T) {
	one, was := hostAssembly(3, "")
	object := assembleTo(t, one)
	for _, n := range []int{1, 3, 4, 1000, 16884} {
		other, now := hostAssembly(n, "")
		want := assembleTo(t, other)
		bare, err := Replace(object, ".nv_fatbin", was, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Replace(bare, ".nv_fatbin", nil, now)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d words: %v, equal: %v", n, err, bytes.Equal(got, want))
		}
	}
	if _, err := Replace(object, ".nv_fatbin", was[8:], nil); !errors.Is(err, ErrObject) {
		t.Errorf("another content than expected: %v", err)
	}
	if _, err := Replace(object, ".nothere", nil, nil); !errors.Is(err, ErrObject) {
		t.Errorf("no such section: %v", err)
	}
	for n := range object { // cut short anywhere
		if n%7 == 0 {
			if _, err := Replace(object[:n], ".nv_fatbin", was, nil); err == nil {
				t.Fatalf("%d of %d bytes taken for an object", n, len(object))
			}
		}
	}
}

// TestSpliceRefuses: what refers to the device code otherwise than by its beginning.
func TestSpliceRefuses(t *testing.T) {
	for name, more := range map[string]string{
		"further data":      "\t.section .nv_fatbin\n\t.quad 1\n",
		"a symbol inside":   "\t.section .nv_fatbin\ninside:\n",
		"a pointer inside":  "\t.data\n\t.quad fatbinData + 8\n",
		"a relocation":      "\t.section .nv_fatbin\n\t.reloc fatbinData, R_X86_64_64, f\n",
		"two such sections": "\t.section .nv_fatbin,\"a\",@progbits,unique,1\n\t.quad 1\n",
	} {
		text, was := hostAssembly(3, more)
		if _, err := Replace(assembleTo(t, text), ".nv_fatbin", was, nil); !errors.Is(err, ErrObject) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, was := hostAssembly(3, "")
	writable := assembleTo(t, strings.Replace(text, ".nv_fatbin, \"a\"", ".nv_fatbin, \"aw\"", 1))
	if _, err := Replace(writable, ".nv_fatbin", was, nil); !errors.Is(err, ErrObject) {
		t.Errorf("a section that is written to: %v", err)
	}
	if _, err := Replace(append(assembleTo(t, text), 0), ".nv_fatbin", was, nil); !errors.Is(err,
		ErrObject) {
		t.Errorf("bytes behind the sections: %v", err)
	}
}

const fatbinText = "int a;\nasm(\n\".section .nv_fatbin, \\\"a\\\"\\n\"\n\".align 8\\n\"\n\"fatbinData:\\n\"\n\".quad 0x00100001ba55ed50,0x0000000000000d98\\n\"\n\".quad  0x0000000000000003\\n\"\n" +
	"\".text\\n\");\nextern \"C\" {\nextern const unsigned long long fatbinData[3];\n}\nint b;\n"

func TestCutFatbin(t *testing.T) {
	f, err := CutFatbin(fatbinText)
	if err != nil {
		t.Fatal(err)
	}
	if f.Section != ".nv_fatbin" || len(f.Data) != 24 || f.Data[0] != 0x50 || f.Data[16] != 3 {
		t.Errorf("%+v", f)
	}
	longer := strings.Replace(fatbinText, "0x0000000000000003", "0x0000000000000003, 0x0000000000000004", 1)
	longer = strings.Replace(longer, "fatbinData[3]", "fatbinData[4]", 1)
	if g, err := CutFatbin(longer); err != nil || g.Before != f.Before || g.After != f.After ||
		len(g.Data) != 32 {
		t.Errorf("longer: %v", err)
	}
	for name, change := range map[string][2]string{
		"rest":          {"int b", "int c"},
		"section":       {".nv_fatbin", "__nv_relfatbin"},
		"code before":   {"int a", "int z"},
		"declared type": {"unsigned long long", "unsigned  long long"},
	} {
		g, err := CutFatbin(strings.Replace(fatbinText, change[0], change[1], 1))
		if err == nil && g.Before+"\x00"+g.After+"\x00"+g.Section == f.Before+"\x00"+f.After+"\x00"+f.Section {
			t.Errorf("%s: another text, and the same key", name)
		}
	}
	for name, change := range map[string][2]string{
		"a number of other words": {"0x0000000000000003", "3"},
		"another directive":       {".quad  ", ".byte  "},
		"a length that is wrong":  {"fatbinData[3]", "fatbinData[4]"},
		"no length":               {"fatbinData[3]", "other[3]"},
		"an alignment":            {".align 8", ".align 16"},
		"a flag":                  {"\\\"a\\\"", "\\\"aw\\\""},
		"two of them":             {"int b;\n", "\"fatbinData:\\n\"\n"},
		"no data":                 {"fatbinData:", "Data:"},
	} {
		if _, err := CutFatbin(strings.Replace(fatbinText, change[0], change[1], 1)); !errors.Is(err,
			errFatbin) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzCutFatbin(f *testing.F) {
	f.Add(fatbinText)
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if b, err := CutFatbin(text); err == nil &&
			(len(b.Data)%8 != 0 || len(b.Before)+len(b.After) >= len(text)) {
			t.Errorf("%d bytes of data, %d and %d around, of %d", len(b.Data), len(b.Before), len(b.After), len(text))
		}
	})
}

func FuzzSplice(f *testing.F) {
	f.Add([]byte("\x7fELF"), []byte("12345678"))
	f.Fuzz(func(t *testing.T, object, data []byte) {
		Replace(object, ".nv_fatbin", nil, data) // an error, never a panic
	})
}
