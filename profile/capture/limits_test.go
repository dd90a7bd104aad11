package capture

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWithin: limits follow the machine, and the user's word where there is one.
func TestWithin(t *testing.T) {
	dir := t.TempDir()
	free := Room(dir)
	if l := Usual.Within(dir, 0); l.Launch > free/4+1<<20 || l.Run > free/2+1<<20 ||
		free > 64<<30 && available() > 32<<30 && l.Launch <= Usual.Launch {
		t.Errorf("%d MiB free: %+v", free>>20, l)
	}
	if l := Usual.Within(dir, 1<<20); l.Launch != 1<<20 || l.Run != 4<<20 {
		t.Errorf("%+v", l)
	}
	if l := Usual.Within(dir, 1<<62); l.Launch < 0 || l.Run < l.Launch || l.Run > free/2+1<<20 {
		t.Errorf("%+v", l)
	}
	if l := Usual.Within(dir, 0); l.Total < l.Run { // Trim would take what the run has just made
		t.Errorf("%+v", l)
	}
	if err := RoomFor(dir, 1<<60); err == nil ||
		!strings.Contains(err.Error(), "nearly full") {
		t.Errorf("a file larger than the disk: %v", err)
	}
}

// TestKnown: content that an earlier capture of the run has is this one's as well, in its place. If
// that one could not be kept, this one is not either.
func TestKnown(t *testing.T) {
	const base = 0x7f2000000000
	content := bytes.Repeat(u32(0x3f800001), chunkSize/4)
	of := Sum(content)
	sum := of[:]
	file := func(named byte) []byte {
		b := bytes.NewBuffer(raw()[:bytes.Index(raw(), str("counter"))-16])
		writeRecord(b, recRange, u64(base), u64(3*chunkSize+8), u32(0))
		writeRecord(b, recBefore, append([]byte{0}, make([]byte, 16)...), append([]byte{named}, sum...),
			make([]byte, 17))
		writeRecord(b, recData, u64(base), bytes.Repeat([]byte{9}, chunkSize))
		if named == 0 {
			writeRecord(b, recData, u64(base+chunkSize), content)
		}
		writeRecord(b, recData, u64(base+3*chunkSize), []byte("the last"))
		writeRecord(b, recEnd)
		return b.Bytes()
	}
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	have := kept{}
	var whole [2][]byte
	for named := range whole {
		m, err := s.pack(bytes.NewReader(file(byte(named))), []byte("a cubin"), known(), have)
		if err != nil {
			t.Fatal(err)
		}
		if m.Filled != 2*chunkSize+8 {
			t.Errorf("%d bytes are not zero", m.Filled)
		}
		if whole[named], err = s.Bytes(m); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(whole[0], whole[1]) || !bytes.Contains(whole[1], content) {
		t.Error("named content is not what it was")
	}
	_, err = s.pack(bytes.NewReader(file(1)), []byte("a cubin"), known(), kept{})
	if err == nil || !strings.Contains(err.Error(), "an earlier capture could not be kept") {
		t.Errorf("named content that nobody has: %v", err)
	}
}

// TestChanged: what is not what its hash was made of is not kept, and no later capture is told to
// be the same; what was sound beside it is known.
func TestChanged(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const base = 0x7f2000000000
	a, b := bytes.Repeat([]byte{1}, chunkSize), bytes.Repeat([]byte{2}, chunkSize)
	sumA, sumB := Sum(a), Sum(b)
	file := func(named byte, data ...[]byte) []byte {
		f := bytes.NewBuffer(raw()[:bytes.Index(raw(), str("counter"))-16])
		writeRecord(f, recRange, u64(base), u64(2*chunkSize), u32(0))
		writeRecord(f, recBefore, []byte{named & 1}, sumA[:], []byte{named >> 1}, sumB[:])
		for i, d := range data {
			if named>>i&1 == 0 {
				writeRecord(f, recData, u64(base+uint64(i)*chunkSize), d)
			}
		}
		writeRecord(f, recEnd)
		return f.Bytes()
	}
	have := kept{}
	other := bytes.Clone(b)
	other[chunkSize-1]++
	for i, c := range []struct {
		file []byte
		why  string
	}{
		{file(0, a, other), "memory changed between two looks"},
		{file(2, a, b), "an earlier capture could not be kept"},
		{file(1, a, b), ""},
		{file(3, a, b), ""},
	} {
		m, err := s.pack(bytes.NewReader(c.file), []byte("a cubin"), known(), have)
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%d: %v", i, err)
		}
		if err != nil {
			continue
		}
		ranges, _, err := s.Held(m)
		if err != nil || !bytes.Equal(ranges[0], append(bytes.Clone(a), b...)) {
			t.Errorf("%d: other bytes: %v", i, err)
		}
	}
	// As the agent has them, of what is no multiple of 8 bytes, too.
	if got, want := Sum([]byte("123456789")), Sum([]byte("123456789\x00\x00")); got != want {
		t.Errorf("%x, %x", got, want)
	}
}

// TestAllowed: what a control group leaves, in both of Linux' forms; those above count.
func TestAllowed(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("job/step/memory.max", "max\n")
	write("job/step/memory.current", "100\n")
	write("job/memory.max", "1000\n")
	write("job/memory.current", "700\n")
	write("job/memory.stat", "anon 600\nactive_file 1\ninactive_file 50\n")
	write("memory/old/memory.limit_in_bytes", "500\n")
	write("memory/old/memory.usage_in_bytes", "600\n")
	for groups, want := range map[string]int64{"0::/job/step\n": 350, "0::/\n": math.MaxInt64,
		"5:memory:/old\n4:cpu,cpuacct:/job\n0::/job\n": 0, "": math.MaxInt64} {
		write("self", groups)
		if got := allowed(filepath.Join(dir, "self"), dir); got != want {
			t.Errorf("%q: %d, want %d", groups, got, want)
		}
	}
}

// TestFile: a file is not written to when its disk is nearly full, also where that came later.
func TestFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := (&File{File: f}).Write(make([]byte, 100)); n != 100 || err != nil {
		t.Error(n, err)
	}
	full, err := os.OpenFile("/proc/self/comm", os.O_WRONLY, 0) // a file system without room
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	if _, err := (&File{File: full}).Write([]byte("x")); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if _, err := (&File{File: full, left: 1}).Write([]byte("capture")); !errors.Is(err, errFull) {
		t.Error("it is not looked at again:", err)
	}
}
