// Files that lie: nothing may panic, and memory stays in proportion to the file.

package cubin

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func seeds(t testing.TB) [][]byte {
	t.Helper()
	paths, _ := filepath.Glob("testdata/old/*.bin")
	if len(paths) == 0 {
		t.Fatal("no files in testdata/old")
	}
	var out [][]byte
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func FuzzRead(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		CodeHash(b)
		Load(b, "small", func(string, []byte) uint64 { return 1 << 40 })
		file, err := Read(b)
		if (file == nil) == (err == nil) {
			t.Fatalf("file %v, error %v", file, err)
		}
		if err == nil && (len(file.Kernels) > len(b)/64 || len(file.Globals) > len(b)/24) {
			t.Fatalf("%d kernels and %d globals from %d bytes", len(file.Kernels), len(file.Globals), len(b))
		}
	})
}

func FuzzSpills(f *testing.F) {
	f.Add(
		"ptxas info    : Compiling entry function 'k' for 'sm_90'\nptxas info    : Used 9 registers, 1+2 bytes smem\n")
	f.Fuzz(func(t *testing.T, s string) { Spills(s) })
}

// Every prefix of a file, and every byte turned over, gives an answer.
func TestDamaged(t *testing.T) {
	for _, b := range seeds(t) {
		for n := range b {
			Read(b[:n])
			c := append([]byte(nil), b...)
			c[n] ^= 0xff
			Read(c)
			Load(c, "small", func(string, []byte) uint64 { return 1 << 40 })
		}
	}
}

func TestRefused(t *testing.T) {
	good := seeds(t)[0]
	edit := func(f func(b []byte)) []byte {
		b := append([]byte(nil), good...)
		f(b)
		return b
	}
	for want, b := range map[string][]byte{
		"not an ELF file":        []byte("#!/bin/sh\n"),
		"machine 62 is not CUDA": edit(func(b []byte) { b[18] = 62 }),
		"not a 64-bit":           edit(func(b []byte) { b[4] = 1 }),
		"no section headers":     edit(func(b []byte) { binary.LittleEndian.PutUint64(b[40:], 0) }),
		"lie outside the file": edit(func(b []byte) {
			binary.LittleEndian.PutUint64(b[40:], 1<<63)
		}),
		"do not fit a file": edit(func(b []byte) {
			binary.LittleEndian.PutUint16(b[60:], 0xfeff)
		}),
		"section names in section": edit(func(b []byte) {
			binary.LittleEndian.PutUint16(b[62:], 0xfeff)
		}),
		"no known way of naming th": edit(func(b []byte) { copy(b[48:], []byte{0, 0, 0, 0}) }),
	} {
		if _, err := Read(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A table of thousands of overlapping long names must not be copied out thousands of times.
func TestOverlappingNames(t *testing.T) {
	le := binary.LittleEndian
	const names, count = 1 << 19, 4000 // bytes of names, sections that use them
	b := make([]byte, 64+names+count*64)
	copy(b, seeds(t)[0][:64])
	for i := 64; i < 64+names-1; i++ {
		b[i] = 'x'
	}
	at := 64 + names
	le.PutUint64(b[40:], uint64(at))
	le.PutUint16(b[60:], count)
	le.PutUint16(b[62:], 0)
	for i := range count {
		h := b[at+i*64:]
		le.PutUint32(h, uint32(names/2+i))
		le.PutUint32(h[4:], 3)
		le.PutUint64(h[24:], 64)
		le.PutUint64(h[32:], names)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Read(b); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(4*len(b)) {
		t.Errorf("%d bytes allocated for a file of %d", used, len(b))
	}
}
