package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/profile"
)

// raw is a file as the agent writes it: a launch of k(p, 5) with two ranges, one on the host, and a
// variable of each kind.
func raw() []byte {
	var b bytes.Buffer
	args := append(u64(0x7f2000000000), u32(5)...)
	kernel := [][]byte{str("k")}
	for _, v := range []uint32{8, 1, 1, 128, 1, 1, 64, 49152, 0xffffffff, 0, 255} {
		kernel = append(kernel, u32(v))
	}
	kernel = append(kernel, u64(1024), u32(2), u32(0), u32(8), u32(8), u32(4), u32(uint32(len(args))),
		args)
	writeRecord(&b, recKernel, kernel...)
	writeRecord(&b, recAttribute, u32(8), make([]byte, 64))
	writeRecord(&b, recVariable, str("counter"), []byte{0}, []byte{1, 0, 0, 0})
	writeRecord(&b, recVariable, str("scale"), []byte{1}, make([]byte, 16))
	floats := bytes.Repeat(u32(0x3f800001), chunkSize/4)
	writeRecord(&b, recRange, u64(0x7f2000000000), u64(3*chunkSize+100), u32(0))
	writeRecord(&b, recData, u64(0x7f2000000000+chunkSize), floats)
	writeRecord(&b, recData, u64(0x7f2000000000+3*chunkSize), floats[:100])
	writeRecord(&b, recRange, u64(0x7f1000000000), u64(4096), u32(1))
	writeRecord(&b, recData, u64(0x7f1000000000), bytes.Repeat([]byte{1, 0, 0, 0}, 1024))
	writeRecord(&b, recAfter, str("counter"), u64(0), make([]byte, 16))
	writeRecord(&b, recAfter, str(""), u64(0x7f2000000000), make([]byte, 64))
	writeRecord(&b, recAfter, str(""), u64(0x7f1000000000), make([]byte, 16))
	writeRecord(&b, recEnd)
	return b.Bytes()
}

func known() Manifest {
	return Manifest{Made: time.Now(), Device: "NVIDIA Test", UUID: strings.Repeat("0a", 16),
		Kernel: "k", Cubin: "x", Shape: profile.Shape{Grid: [3]int{8, 1, 1}, Block: [3]int{128, 1, 1}}}
}

func packed(t *testing.T) (*Store, *Manifest) {
	t.Helper()
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Pack(bytes.NewReader(raw()), []byte("a cubin"), known())
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

// What went in comes out: the agent's records, in the replayer's order, with the cubin and the
// device.
func TestRoundTrip(t *testing.T) {
	s, m := packed(t)
	if m.Bytes != 3*chunkSize+100+4096+20 || m.Filled != chunkSize+100+4096+20 || len(m.Ranges) != 2 ||
		m.Ranges[0].Base != 0x7f1000000000 {
		t.Errorf("%+v", m)
	}
	if m.Ranges[0].Numbers != "" || m.Ranges[1].Numbers != "float" {
		t.Errorf("numbers: %q, %q", m.Ranges[0].Numbers, m.Ranges[1].Numbers)
	}
	again, err := s.Load(m.ID)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Bytes(again)
	if err != nil || !bytes.HasPrefix(b, []byte(magic)) {
		t.Fatal(err)
	}
	count := map[recordType]int{}
	var kernel []byte
	for r := bytes.NewReader(b[len(magic):]); r.Len() > 0; {
		kind, body, err := readRecord(r)
		if err != nil {
			t.Fatal(err)
		}
		count[kind]++
		if kind == recKernel {
			kernel = body
		}
	}
	want := map[recordType]int{recDevice: 1, recCubin: 1, recKernel: 1, recAttribute: 1, recRange: 2,
		recData: 3, recVariable: 2, recAfter: 3, recEnd: 1, recNumbers: 1}
	for k, n := range want {
		if count[k] != n {
			t.Errorf("records of type %d: %d, want %d", k, count[k], n)
		}
	}
	if _, body, _ := readRecord(bytes.NewReader(raw())); !bytes.Equal(kernel, body) {
		t.Error("the kernel's record has changed")
	}
	// Equal content is kept once.
	if _, err := s.Pack(bytes.NewReader(raw()), []byte("a cubin"), known()); err != nil {
		t.Fatal(err)
	}
	chunks, _ := filepath.Glob(filepath.Join(s.dir, "chunks", "*", "*"))
	if list, skipped := s.List(); len(chunks) != 6 || len(list) != 2 || skipped != 0 {
		t.Errorf("%d chunks, %d captures, %d skipped", len(chunks), len(list), skipped)
	}
}

// A file that was cut anywhere, or has a byte changed, is refused or kept as what it says: nothing
// else happens.
func TestDamaged(t *testing.T) {
	whole := raw()
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += max(1, len(whole)/200) {
		if _, err := s.Pack(bytes.NewReader(whole[:n]), nil, known()); !errors.Is(err, errDamaged) {
			t.Fatalf("cut at %d of %d: %v", n, len(whole), err)
		}
	}
	long := append(u32(uint32(recData)), append(u32(0), u64(1<<60)...)...)
	if _, err := s.Pack(bytes.NewReader(long), nil, known()); !errors.Is(err, errDamaged) {
		t.Errorf("a record of 2^60 bytes: %v", err)
	}
	outside := append(writeOne(recRange, u64(4096), u64(10), u32(0)), writeOne(recData, u64(4090),
		[]byte{1})...)
	outside = append(append(whole[:0:0], outside...), writeOne(recEnd)...)
	if _, err := s.Pack(bytes.NewReader(outside), nil, known()); !errors.Is(err, errDamaged) {
		t.Errorf("data outside of its range: %v", err)
	}
}

func writeOne(t recordType, parts ...[]byte) []byte {
	var b bytes.Buffer
	writeRecord(&b, t, parts...)
	return b.Bytes()
}

// A chunk that was removed is noticed (TestPoisonedChunk has those that were damaged or exchanged);
// manifests of other versions too.
func TestDamagedStore(t *testing.T) {
	s, m := packed(t)
	os.Remove(s.chunkPath(m.Code.Hash))
	if _, err := s.Bytes(m); err == nil {
		t.Error("a chunk that is gone was read")
	}
	manifest := filepath.Join(s.dir, "launches", m.ID+".json")
	text, _ := os.ReadFile(manifest)
	os.WriteFile(manifest, bytes.Replace(text, []byte(`"version":1`), []byte(`"version":9`), 1), 0o600)
	if _, err := s.Load(m.ID); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("another version: %v", err)
	}
	if list, skipped := s.List(); len(list) != 0 || skipped != 1 {
		t.Errorf("%d listed, %d skipped", len(list), skipped)
	}
	for _, id := range []string{"", "../../etc/passwd", strings.Repeat("a", 16),
		"A" + strings.Repeat("a", 15)} {
		if _, err := s.Load(id); err == nil {
			t.Errorf("%q was loaded", id)
		}
		if err := s.Drop(id); err == nil {
			t.Errorf("%q was dropped", id)
		}
	}
}

// The oldest captures go when there is no room, and what is too old goes in any case; chunks that a
// capture names stay.
func TestTrim(t *testing.T) {
	s, m := packed(t)
	old, err := s.Pack(bytes.NewReader(raw()), []byte("another cubin"), known())
	if err != nil {
		t.Fatal(err)
	}
	old.Made = time.Now().Add(-48 * time.Hour)
	s.keep(old)
	chunks, _ := filepath.Glob(filepath.Join(s.dir, "chunks", "*", "*"))
	for _, c := range chunks {
		os.Chtimes(c, time.Now(), time.Now().Add(-2*time.Hour))
	}
	if err := s.Trim(Limits{Total: 1 << 30, Age: 24 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(old.ID); err == nil {
		t.Error("what is too old was kept")
	}
	if _, err := s.Code(old); err == nil {
		t.Error("its cubin was kept")
	}
	if _, err := s.Bytes(m); err != nil {
		t.Errorf("what is young was damaged: %v", err)
	}
	if err := s.Trim(Limits{Total: 10, Age: 24 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	if list, _ := s.List(); len(list) != 0 {
		t.Errorf("%d captures beyond the total", len(list))
	}
}

// A captured launch with another build of its kernel: what the launch left before is no measure any
// more, and what does not fit is refused.
func TestEdited(t *testing.T) {
	s, m := packed(t)
	fits := [][2]int{{0, 8}, {8, 4}}
	now := func(params [][2]int, list ...ModuleValue) (*Manifest, error) {
		return s.Edited(m, Code{Cubin: []byte("another"), Hash: "y", Params: params, Variables: list})
	}
	e, err := now(fits, ModuleValue{Name: "scale", Size: 16, Reached: true}, ModuleValue{Name: "new"},
		ModuleValue{Name: "table", Reached: true, Own: true})
	if err != nil || len(e.After) != 0 || len(e.Variables) != 1 || e.Variables[0].Name != "scale" ||
		e.Cubin != "y" || len(e.Ranges) != len(m.Ranges) {
		t.Fatalf("%+v, %v", e, err)
	}
	if code, err := s.Code(e); err != nil || string(code) != "another" {
		t.Errorf("%q, %v", code, err)
	}
	if _, err := s.Bytes(e); err != nil || m.Cubin != "x" || len(m.After) != 3 {
		t.Errorf("%v; the capture itself is %+v", err, m)
	}
	for what, f := range map[string]func() (*Manifest, error){
		"a parameter more":   func() (*Manifest, error) { return now(append(fits, [2]int{12, 4})) },
		"a larger parameter": func() (*Manifest, error) { return now([][2]int{{0, 8}, {8, 8}}) },
		"none":               func() (*Manifest, error) { return now(nil) },
		"a larger variable": func() (*Manifest, error) {
			return now(fits, ModuleValue{Name: "scale", Size: 32, Reached: true})
		},
		"a new variable": func() (*Manifest, error) {
			return now(fits, ModuleValue{Name: "new", Size: 4, Reached: true})
		},
	} {
		if _, err := f(); !errors.Is(err, ErrUnlike) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzPack(f *testing.F) {
	f.Add(raw())
	small := writeOne(recRange, u64(1<<20), u64(100), u32(0))
	f.Add(append(append(small, writeOne(recData, u64(1<<20), []byte{1, 2, 3})...),
		writeOne(recEnd)...))
	s, err := Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := s.Pack(bytes.NewReader(b), []byte("code"), known())
		if err != nil {
			return
		}
		if _, err := s.Bytes(m); err != nil {
			t.Errorf("packed, but can't be written: %v", err)
		}
	})
}

func FuzzManifest(f *testing.F) {
	s, err := Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	m, err := s.Pack(bytes.NewReader(raw()), []byte("code"), known())
	if err != nil {
		f.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(s.dir, "launches", m.ID+".json"))
	f.Add(text)
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := decode(b, strings.Repeat("0", 16)); err == nil {
			s.Bytes(m)
			m.Use.Apply(&profile.Launch{Params: []profile.Param{{Size: 8, Value: make([]byte, 8)}}})
		}
	})
}

// What words could be: only floats are filled with others.
func TestNumbers(t *testing.T) {
	of := func(words ...uint64) string {
		var n numbers
		var b []byte
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		n.add(b)
		return n.kind()
	}
	for want, words := range map[string][]uint64{
		"zero":   {0, 0},
		"float":  {0x3f8000003f800000, 0x42f7000000000000},
		"double": {0x3ff0000000000001, 0x4059000000000000, 0xbff199999999999a},
		"":       {1, 2, 3, 0x7f2000000000},
	} {
		if got := of(words...); got != want {
			t.Errorf("%x: %q, want %q", words, got, want)
		}
	}
}

// What a kernel reads through its arguments decides which ranges are numbers, zeros or not; where
// two arguments point to one range, both must say the same; content decides on the rest.
func TestJudge(t *testing.T) {
	var head []byte
	head = append(head, str("k")...)
	head = append(head, make([]byte, 3*4+3*4+5*4+8)...)
	head = append(head, u32(4)...)
	for i := range uint32(4) {
		head = append(append(head, u32(8*i)...), u32(8)...)
	}
	head = append(head, u32(32)...)
	for _, p := range []uint64{0x1000, 0x2010, 0x2020, 0x9000} {
		head = append(head, u64(p)...)
	}
	ranges := []Range{{Base: 0x1000, Size: 0x100, Numbers: "zero"}, {Base: 0x2000, Size: 0x100,
		Numbers: "float"}, {Base: 0x3000, Size: 0x100, Numbers: "double"}}
	for want, kinds := range map[string][]string{
		"float,float,double":  {"float", "float", "float", "double"}, // the last one points nowhere
		",float,double":       {"", "float", "float"},
		"zero,,double":        {"?", "float", "double"},
		"double,float,double": {"double", "?", "?"},
	} {
		m := &Manifest{Settings: head, Ranges: slices.Clone(ranges)}
		m.Judge(false, func(yield func(int, int, string)) {
			for i, k := range kinds {
				if k != "?" {
					yield(i, 0, k)
				}
			}
			yield(0, 4, "double") // reaches over the argument's end
			yield(17, 0, "double")
		})
		var got []string
		for _, r := range m.Ranges {
			got = append(got, r.Numbers)
		}
		// where it reads through them alone, arrays in one range are told apart
		m.Judge(true, func(yield func(int, int, string)) {
			for i, k := range kinds {
				if k != "?" {
					yield(i, 0, k)
				}
			}
		})
		if parts := m.Ranges[1].Parts; want == "zero,,double" && !slices.Equal(parts, []Piece{{0x10, 0x10, "float"}, {0x20, 0xe0, "double"}}) ||
			want != "zero,,double" && parts != nil {
			t.Errorf("%v: parts %v", kinds, parts)
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%v: %v, want %s", kinds, got, want)
		}
	}
	// Ranges that are written and not read hold any bytes under variations; the manifest stays.
	m := &Manifest{Settings: head, Ranges: ranges}
	arguments := func(list ...int) (out [][2]int) {
		for _, i := range list {
			out = append(out, [2]int{i, 0})
		}
		return out
	}
	for _, c := range []struct {
		read, written []int
		want          string
	}{{nil, []int{0}, "bytes float"}, {[]int{0}, []int{0, 1}, "zero bytes"},
		{[]int{2}, []int{0, 1, 3, 9}, "bytes float"}, {[]int{1}, nil, "zero float"}} {
		got := m.Overwritten(arguments(c.read...), arguments(c.written...)).Ranges
		if text := got[0].Numbers + " " + got[1].Numbers; text != c.want || ranges[0].Numbers != "zero" ||
			got[2].Numbers != "double" {
			t.Errorf("%+v: %s", c, text)
		}
	}
	var b bytes.Buffer
	none := func(Chunk) ([]byte, error) { return nil, nil }
	err := m.Overwritten(nil, arguments(0)).write(&b, make([]byte, 16), none)
	told := slices.Concat(u64(uint64(recNumbers)), u64(12), u64(0x1000), u32(3))
	if err != nil || !bytes.Contains(b.Bytes(), told) {
		t.Errorf("the replayer is not told: %v", err)
	}
}
