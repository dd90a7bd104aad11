package cache

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// The snapshot's file: all records, sorted, in a form that is read with a few preads and trusted in
// nothing.
//
//	header    512 bytes: a sealed line of JSON (flatHeader), filled up with line ends
//	records   one after the other, sorted by name, which is bucket NUL key: its length u16, the name, the sealed body
//	table     for each record where it begins, u64, and the first 24 bytes of its name, filled up with NUL
//
// Numbers are little-endian. A look-up halves the table until what is left is read at once: 10
// preads from the page cache at 30,000 records. Nothing is mapped, so that a file that somebody
// cuts short is an error and no signal. Builds check what they touch: the header's seal, places
// within the file, the order of names, the record's own seal. The header's checksum over all the
// rest is compared by who publishes, by the owner, and by gnvcc doctor.

const (
	flatFormat = 1
	flatHead   = 512 // bytes
	flatWhere  = "snapshot"
	flatStart  = 24               // bytes of a name that stand in the table
	flatEntry  = 8 + flatStart    // of the table
	flatBlock  = 4096 / flatEntry // entries that are read at once
	// maxWhere is the longest bucket NUL key.
	maxWhere = 128 + 1 + 512
	// maxSpan bounds a record with its key and seal, bytes.
	maxSpan = 2 + maxWhere + len(sealMark) + 32 + maxRecord
)

type flatHeader struct {
	Format  int // a later one may change everything but this line's form
	Schema  int
	ID      string // of the store that it was published from
	Tx      uint64 // how often that had been published
	Records int
	Table   int64  // where it begins
	Size    int64  // of the file, bytes
	Sum     uint32 // CRC-32C of all that follows the header
	Recipes string // hash of the file recipes that belongs to it
}

// encodeFlat gives a file with sealed records, by their names. Whose they are stands in the header.
func encodeFlat(records map[string][]byte, head flatHeader) ([]byte, error) {
	le := binary.LittleEndian
	size := flatHead
	for name, sealed := range records {
		size += 2 + len(name) + len(sealed) + flatEntry
	}
	b := make([]byte, flatHead, size)
	table := make([]byte, 0, len(records)*flatEntry)
	for _, name := range slices.Sorted(maps.Keys(records)) {
		table = append(le.AppendUint64(table, uint64(len(b))), nameStart(name)...)
		b = append(le.AppendUint16(b, uint16(len(name))), name...)
		b = append(b, records[name]...)
	}
	head.Format, head.Schema, head.Records = flatFormat, schema, len(records)
	head.Table, head.Size = int64(len(b)), int64(len(b)+len(table))
	b = append(b, table...)
	head.Sum = crc32.Checksum(b[flatHead:], castagnoli)
	return b, putFlatHead(b, head)
}

// putFlatHead puts the header to the beginning of a file, which makes a snapshot of it.
func putFlatHead(b []byte, head flatHeader) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	const room = flatHead - len(sealMark) - 32
	if len(text) > room {
		return fmt.Errorf("a header of %d bytes", len(text))
	}
	// The stamp's length varies: what is left is filled up outside the seal's sight, behind the body's
	// own spaces.
	sealed := seal(flatWhere, time.Now().UnixNano(), fmt.Appendf(text, "%*s", room-len(text), "\n"))
	copy(b, append(sealed, strings.Repeat("\n", flatHead-len(sealed))...))
	return nil
}

// A flat is an open snapshot file.
type flat struct {
	head  flatHeader
	data  io.ReaderAt
	table io.ReaderAt // the same file
}

// openFlat reads the header.
func openFlat(r io.ReaderAt, size int64) (*flat, error) {
	b := make([]byte, flatHead)
	if _, err := r.ReadAt(b, 0); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("too short for a snapshot: %d bytes", size)
		}
		return nil, err
	}
	// The filling in front of the records is no part of the header: its seal ends with the first empty
	// line.
	text := strings.TrimRight(string(b), "\n") + "\n"
	body, _, err := unseal(flatWhere, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	f := &flat{data: r, table: r}
	h := &f.head
	if err := json.Unmarshal(body, h); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	switch {
	case h.Format > flatFormat || h.Schema > schema:
		return nil, fmt.Errorf("%w: it has format %d, schema %d; this gnvcc knows %d and %d", ErrVersion,
			h.Format, h.Schema, flatFormat, schema)
	case h.Format < 1 || h.Schema < 1:
		return nil, fmt.Errorf("format %d, schema %d", h.Format, h.Schema)
	case h.Size != size:
		return nil, fmt.Errorf("%d bytes where %d were written", size, h.Size)
	case h.Table < flatHead || h.Table > size || int64(h.Records) != (size-h.Table)/flatEntry ||
		(size-h.Table)%flatEntry != 0:
		return nil, fmt.Errorf("%d records, with a table from byte %d of %d", h.Records, h.Table, size)
	}
	return f, nil
}

// nameStart is what the table holds of a name.
func nameStart(name string) []byte {
	b := make([]byte, flatStart)
	copy(b, name)
	return b
}

// entries reads n of the table's, from the i-th on.
func (f *flat) entries(i, n int) ([]byte, error) {
	b := make([]byte, n*flatEntry)
	if _, err := f.table.ReadAt(b, f.head.Table+flatEntry*int64(i)); err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	return b, nil
}

// span says where record i lies.
func (f *flat) span(i int) (from, to int64, err error) {
	b, err := f.entries(i, min(2, f.head.Records-i))
	if err != nil {
		return 0, 0, err
	}
	start, end := binary.LittleEndian.Uint64(b), uint64(f.head.Table)
	if len(b) > flatEntry {
		end = binary.LittleEndian.Uint64(b[flatEntry:])
	}
	if start < flatHead || end > uint64(f.head.Table) || end < start+2 || end-start > uint64(maxSpan) {
		return 0, 0, fmt.Errorf("record %d lies from byte %d to %d", i, start, end)
	}
	return int64(start), int64(end), nil
}

// name reads record i's bucket NUL key, and says where its body lies.
func (f *flat) name(i int) (name string, from, to int64, err error) {
	from, to, err = f.span(i)
	if err != nil {
		return "", 0, 0, err
	}
	b := make([]byte, min(to-from, 2+maxWhere))
	if _, err := f.data.ReadAt(b, from); err != nil {
		return "", 0, 0, fmt.Errorf("record %d: %w", i, err)
	}
	n := 2 + int(binary.LittleEndian.Uint16(b))
	if n > len(b) {
		return "", 0, 0, fmt.Errorf("record %d has a name of %d bytes", i, n-2)
	}
	return string(b[2:n]), from + int64(n), to, nil
}

// record reads record i. The body is checked against its seal.
func (f *flat) record(i int) (name string, stamp int64, body []byte, err error) {
	name, from, to, err := f.name(i)
	if err != nil {
		return "", 0, nil, err
	}
	b := make([]byte, to-from)
	if _, err := f.data.ReadAt(b, from); err != nil {
		return name, 0, nil, fmt.Errorf("record %d: %w", i, err)
	}
	body, stamp, err = unseal(name, b)
	if err != nil {
		_, key, _ := strings.Cut(name, "\x00")
		err = fmt.Errorf("record %q: %w", key, err)
	}
	return name, stamp, body, err
}

// search gives the first record whose name is not below what.
func (f *flat) search(what string) (i int, same bool, err error) {
	lo, hi := 0, f.head.Records
	want := nameStart(what)
	var below, above []byte // starts of the names on both sides of what is left
	var block []byte        // the table's entries from lo to hi, once they are few
	first := 0              // the entry that block begins with
	for lo < hi {
		if block == nil && hi-lo <= flatBlock {
			if block, err = f.entries(lo, hi-lo); err != nil {
				return 0, false, err
			}
			first = lo
		}
		mid := (lo + hi) / 2
		var entry []byte
		if block != nil {
			entry = block[(mid-first)*flatEntry:][:flatEntry]
		} else if entry, err = f.entries(mid, 1); err != nil {
			return 0, false, err
		}
		start := entry[8:]
		if below != nil && bytes.Compare(start, below) < 0 || above != nil &&
			bytes.Compare(start, above) > 0 {
			return 0, false, fmt.Errorf("record %d stands out of order", mid)
		}
		order := bytes.Compare(start, want)
		if order == 0 {
			name, _, _, err := f.name(mid)
			if err != nil {
				return 0, false, err
			}
			order = strings.Compare(name, what)
			same = same || order == 0
		}
		if order < 0 {
			lo, below = mid+1, start
		} else {
			hi, above = mid, start
		}
	}
	return lo, same, nil
}

// inOrder is f for who reads all of it: with a buffer each for the records and the table.
func (f *flat) inOrder() *flat {
	g := *f
	g.data, g.table = &window{r: f.data}, &window{r: f.table}
	return &g
}

// A window reads ahead: little at first, for who stops after a record or two.
type window struct {
	r    io.ReaderAt
	at   int64
	b    []byte
	size int
}

func (w *window) ReadAt(p []byte, off int64) (int, error) {
	if off < w.at || off+int64(len(p)) > w.at+int64(len(w.b)) {
		w.size = min(max(2*w.size, 1<<11), 1<<17)
		b := make([]byte, max(len(p), w.size))
		n, err := w.r.ReadAt(b, off)
		if n < len(p) {
			return copy(p, b[:n]), err
		}
		w.at, w.b = off, b[:n]
	}
	return copy(p, w.b[off-w.at:]), nil
}

// survey reads the whole file. fn, when given, gets each sound record; raw is only valid during the
// call.
func (f *flat) survey(fn func(bucket, key string, stamp int64, raw []byte) error) (*survey, error) {
	s := &survey{ID: f.head.ID, Tx: f.head.Tx,
		Recipes: f.head.Recipes, Records: map[string]int{}}
	sum := crc32.New(castagnoli)
	if _, err := io.Copy(sum, io.NewSectionReader(f.data, flatHead,
		f.head.Size-flatHead)); err != nil {
		return s, err
	}
	if sum.Sum32() != f.head.Sum {
		s.wrong("wrong checksum")
	}
	f = f.inOrder()
	var last string
	end := int64(flatHead)
	for i := range f.head.Records {
		from, to, err := f.span(i)
		if err == nil && from != end {
			s.wrong("record %d begins at byte %d, the one before ends at %d", i, from, end)
		}
		end = to
		name, stamp, body, err := f.record(i)
		if err != nil {
			s.wrong("%w", err)
			continue
		}
		if name <= last {
			s.wrong("record %d stands out of order", i)
		}
		if entry, err := f.entries(i, 1); err == nil && !bytes.Equal(entry[8:], nameStart(name)) {
			s.wrong("record %d has another name in the table", i)
		}
		last = name
		bucket, key, _ := strings.Cut(name, "\x00")
		if err := checkRecord(bucket, key); err != nil {
			s.wrong("record %d: %w", i, err)
			continue
		}
		s.Records[bucket]++
		if fn == nil {
			continue
		}
		if err := fn(bucket, key, stamp, body); err != nil {
			return s, err
		}
	}
	if end != f.head.Table {
		s.wrong("the last record ends at byte %d, the table begins at %d", end, f.head.Table)
	}
	return s, nil
}
