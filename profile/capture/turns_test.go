package capture

import (
	"bytes"
	"testing"
)

// turn is a captured launch of k(p, q, r, n), with the arguments of the launch before it.
func turn(n uint32, args [3]uint64, before ...uint64) *Manifest {
	pack := func(p []uint64) []byte {
		return append(bytes.Join([][]byte{u64(p[0]), u64(p[1]), u64(p[2])}, nil), u32(n)...)
	}
	var b bytes.Buffer
	b.Write(str("k"))
	b.Write(make([]byte, 3*4+3*4+5*4+8))
	b.Write(u32(4))
	for i := range uint32(3) {
		b.Write(append(u32(8*i), u32(8)...))
	}
	b.Write(append(u32(24), u32(4)...))
	b.Write(str(string(pack(args[:]))))
	m := &Manifest{Settings: b.Bytes(), Ranges: []Range{{Base: 1 << 20, Size: 1 << 12},
		{Base: 2 << 20, Size: 1 << 12}, {Base: 3 << 20, Size: 1 << 12}}}
	if before != nil {
		m.Prior = pack(before)
	}
	return m
}

const a, b, c, elsewhere = 1 << 20, 2 << 20, 3 << 20, 9 << 20

// TestTurn: the launch before is done again where it differs in captured buffers alone.
func TestTurn(t *testing.T) {
	for _, x := range []struct {
		what string
		m    *Manifest
		want bool
	}{
		{"two change places", turn(5, [3]uint64{a, b, c}, b, a, c), true},
		{"a place within", turn(5, [3]uint64{a, b, c}, a+64, b, c), true},
		{"not known", turn(5, [3]uint64{a, b, c}), false},
		{"the same", turn(5, [3]uint64{a, b, c}, a, b, c), false},
		{"not captured", turn(5, [3]uint64{a, b, c}, elsewhere, a, c), false},
		{"not captured any more", turn(5, [3]uint64{elsewhere, b, c}, a, b, c), false},
		{"no buffer", turn(5, [3]uint64{a, b, 8}, b, a, 9), false},
	} {
		if got := x.m.Turn(); (got != nil) != x.want {
			t.Errorf("%s: %x", x.what, got)
		}
	}
	m := turn(5, [3]uint64{a, b, c}, b, a, c)
	if m.Prior[24]++; m.Turn() != nil {
		t.Error("another number")
	}
	if m.Prior = m.Prior[:24]; m.Turn() != nil {
		t.Error("too short")
	}
}

// TestMoves: launches that take turns with buffers differ, and are the same work all the same;
// those with other numbers are not.
func TestMoves(t *testing.T) {
	same := func(size int, differ ...int) Param {
		p := Param{Same: bytes.Repeat([]byte{1}, size)}
		for _, k := range differ {
			p.Same[k] = 0
		}
		return p
	}
	word, n := same(8), same(4)
	for _, x := range []struct {
		what   string
		args   [3]uint64
		params []Param
		want   bool
	}{
		{"two change places", [3]uint64{a, b, c}, []Param{same(8, 1, 2), same(8, 2), word, n}, true},
		{"a number, too", [3]uint64{a, b, c}, []Param{same(8, 2), same(8, 2), word, same(4, 0)}, false},
		{"what changes is no address", [3]uint64{7, b, c}, []Param{same(8, 0), word, word, n}, false},
		{"not captured", [3]uint64{elsewhere, b, c}, []Param{same(8, 2), word, word, n}, false},
		{"nothing changes", [3]uint64{a, b, c}, []Param{word, word, word, n}, false},
		{"other sizes", [3]uint64{a, b, c}, []Param{same(8, 2), word, word, word}, false},
		{"not known", [3]uint64{a, b, c}, nil, false},
	} {
		m := turn(5, x.args)
		if m.Use.Params = x.params; m.Moves() != x.want {
			t.Errorf("%s: %v", x.what, !x.want)
		}
	}
}

// TestTakeTurns: the first launch has none before it; it gets the arguments that it would have had,
// if there was a launch with these.
func TestTakeTurns(t *testing.T) {
	args := func(m *Manifest) []byte {
		_, _, args, err := settingsOf(m.Settings)
		if err != nil {
			t.Fatal(err)
		}
		return args
	}
	first, later := turn(5, [3]uint64{a, b, c}), turn(5, [3]uint64{b, a, c}, a, b, c)
	takeTurns([]*Manifest{first, later})
	if !bytes.Equal(first.Prior, args(later)) || first.Turn() == nil {
		t.Errorf("%x", first.Prior)
	}
	// Three in turns, of which the third was not seen.
	first, later = turn(5, [3]uint64{a, b, c}), turn(5, [3]uint64{b, c, a}, a, b, c)
	if takeTurns([]*Manifest{first, later}); first.Prior != nil {
		t.Errorf("%x", first.Prior)
	}
	third := turn(5, [3]uint64{c, a, b}, b, c, a)
	if takeTurns([]*Manifest{first, later, third}); !bytes.Equal(first.Prior, args(third)) {
		t.Errorf("%x", first.Prior)
	}
	// With another number there was none, and one that does not change tells nothing.
	first = turn(6, [3]uint64{a, b, c})
	if takeTurns([]*Manifest{first, later, turn(6, [3]uint64{b, a, c}, b, a, c)}); first.Prior != nil {
		t.Errorf("%x", first.Prior)
	}
}

// TestSettles: a launch that leaves what it finds settles, and so does one before it that left the
// same with the same arguments; none of which anything is not known, or that writes.
func TestSettles(t *testing.T) {
	const base = 1 << 40
	content, tail := bytes.Repeat([]byte{7}, chunkSize), []byte("the last")
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	capture := func(nth byte, found, left []byte, more ...[]byte) *Manifest {
		head := raw()[:bytes.Index(raw(), str("counter"))-16]
		b := bytes.NewBuffer(head)
		writeRecord(b, recVariable, str("v"), []byte{0}, []byte{1, 2, 3, 4})
		writeRecord(b, recRange, u64(base), u64(2*chunkSize+8), u32(0)) // the second MiB is zero
		if found != nil {
			writeRecord(b, recData, u64(base), found)
		}
		writeRecord(b, recData, u64(base+2*chunkSize), tail)
		b.Write(bytes.Join(more, nil))
		writeRecord(b, recAfter, str("v"), u64(0), sums([]byte{1, 2, 3, 4}))
		writeRecord(b, recAfter, str(""), u64(base), sums(left), sums(make([]byte, chunkSize)), sums(tail))
		writeRecord(b, recEnd)
		m, err := s.Pack(b, []byte("a cubin"), known())
		if err != nil {
			t.Fatal(err)
		}
		m.Nth = int(nth)
		return m
	}
	first, late := capture(1, nil, content), capture(40, content, content)
	other := capture(2, nil, tail) // leaves something else
	more := capture(3, content, content, writeOne(recRange, u64(1<<41), u64(8), u32(0)))
	if first.Settles || !late.Settles || other.Settles || more.Settles {
		t.Errorf("%v %v %v %v", first.Settles, late.Settles, other.Settles, more.Settles)
	}
	settle([]*Manifest{first, other, late, more})
	if !first.Settles || other.Settles || more.Settles {
		t.Errorf("%v %v %v", first.Settles, other.Settles, more.Settles)
	}
	first.Settles, first.Settings = false, append(bytes.Clone(first.Settings), 0)
	if settle([]*Manifest{first, late}); first.Settles {
		t.Error("with other arguments")
	}
	if e, err := s.Edited(late, Code{Params: [][2]int{{0, 8}, {8, 4}}}); err != nil || e.Settles {
		t.Errorf("another kernel: %+v, %v", e, err)
	}
}
