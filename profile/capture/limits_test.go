package capture

import (
	"bytes"
	"strings"
	"testing"
)

// TestWithin: limits follow the machine, and the user's word where there is one.
func TestWithin(t *testing.T) {
	dir := t.TempDir()
	free := room(dir)
	if l := Usual.Within(dir, 0); l.Launch > free/4+1<<20 || l.Run > free/2+1<<20 ||
		free > 64<<30 && available() > 32<<30 && l.Launch <= Usual.Launch {
		t.Errorf("%d MiB free: %+v", free>>20, l)
	}
	if l := Usual.Within(dir, 1<<20); l.Launch != 1<<20 || l.Run != 4<<20 {
		t.Errorf("%+v", l)
	}
	if err := (&Manifest{Filled: 1 << 60}).Fits(dir); err == nil ||
		!strings.Contains(err.Error(), "nearly full") {
		t.Errorf("a file larger than the disk: %v", err)
	}
}

// TestKnown: content that an earlier capture of the run has is this one's as well, in its place. If
// that one could not be kept, this one is not either.
func TestKnown(t *testing.T) {
	const base = 0x7f2000000000
	sum := bytes.Repeat([]byte{7}, 16)
	content := bytes.Repeat(u32(0x3f800001), chunkSize/4)
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
