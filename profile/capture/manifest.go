package capture

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"gnvcc/profile"
)

// version is the manifest's; captures of others are refused, and dropped by the next Trim.
const version = 1

// A Manifest is a captured launch without its bytes, which are chunks of the store, by content.
type Manifest struct {
	Version int       `json:"version"`
	ID      string    `json:"id"` // what the files are called
	Made    time.Time `json:"made"`
	Program string    `json:"program"` // path of the executable
	Driver  int       `json:"driver"`  // as CUDA's version, 13000 for 13.0

	Device string `json:"device"` // "NVIDIA H200"
	UUID   string `json:"uuid"`
	Major  int    `json:"major"`
	Minor  int    `json:"minor"`

	Kernel string `json:"kernel"` // mangled
	Cubin  string `json:"cubin"`  // its hash as launches have it
	profile.Shape
	Nth int `json:"nth"` // which launch of this configuration it was, from 1

	Settings []byte `json:"settings"` // the record of the kernel, as the agent wrote it
	// the arguments of the launch before it, where the program does it in a row; none: not known
	Prior      []byte     `json:"prior,omitempty"`
	Attributes [][]byte   `json:"attributes,omitempty"`
	Ranges     []Range    `json:"ranges,omitempty"`
	Scalars    []Scalar   `json:"scalars,omitempty"`
	Texels     bool       `json:"texels,omitempty"` // there may be other numbers in its arrays
	Arrays     []Array    `json:"arrays,omitempty"`
	Objects    [][]byte   `json:"objects,omitempty"` // textures and surfaces, as the agent wrote them
	Variables  []Variable `json:"variables,omitempty"`
	After      []After    `json:"after,omitempty"`
	Code       Chunk      `json:"code"` // the cubin

	// done once more, on what it left, it leaves the same: this launch, or a later one with the same
	// arguments, found in the program what it left
	Settles bool `json:"settles,omitempty"`

	// seconds of this launch in the program, on the device; from a cold start, and some microseconds more
	// than the kernel. 0: not known, as of a configuration's first launch
	Took float64 `json:"took,omitempty"`

	// where what launches take changes along the run: the part of the time of the launches that are
	// counted in Use that it stands for; 0: they are alike
	Part float64 `json:"part,omitempty"`

	Bytes  int64   `json:"bytes"`  // of ranges and variables
	Filled int64   `json:"filled"` // of them in chunks that are not zero
	Stood  float64 `json:"stood"`  // seconds that the program stood still
	Use    Use     `json:"use"`    // brought up to date at the program's end
}

// A Chunk is a piece of content.
type Chunk struct {
	At   int64  `json:"at,omitempty"` // offset in its range, bytes
	Size int64  `json:"size"`
	Hash string `json:"hash"` // SHA-256
}

// A Range is an allocation that the launch reached.
type Range struct {
	Base   uint64  `json:"base"`
	Size   int64   `json:"size"`
	Host   bool    `json:"host,omitempty"`
	Chunks []Chunk `json:"chunks,omitempty"` // those that are not zero
	// of what kind (kinds) what it holds is, and nothing else (Judge); "zero": nothing but zeros
	Numbers string `json:"numbers,omitempty"`
	// of an allocation that several arrays share, those that hold numbers of one kind
	Parts []Piece `json:"parts,omitempty"`
}

// A Piece is a part of a range.
type Piece struct {
	At, Size int64
	Numbers  string
}

// Floating reports whether it holds floating-point numbers of one format alone.
func (r Range) Floating() bool { n := kinds[r.Numbers]; return n == 1 || n == 2 || n == 4 || n == 5 }

// Varied reports whether there may be other numbers in it.
func (r Range) Varied() bool { return varied(r.Numbers) || len(r.Parts) > 0 }

func varied(numbers string) bool { return kinds[numbers] != 0 && numbers != overwritten }

// A Scalar is an argument, or a field of one, that is a floating-point number ("float", "double").
type Scalar struct {
	Index   int    `json:"index"` // of the argument
	Offset  int    `json:"offset,omitempty"`
	Numbers string `json:"numbers"`
}

// An Array is one that a texture or surface is over.
type Array struct {
	Head   []byte  `json:"head"` // the record, as the agent wrote it
	Size   int64   `json:"size"`
	Chunks []Chunk `json:"chunks,omitempty"` // those that are not zero
}

// A Variable is one of the kernel's module.
type Variable struct {
	Name     string `json:"name"`
	Constant bool   `json:"constant,omitempty"`
	Numbers  string `json:"numbers,omitempty"` // as a range's
	Content  Chunk  `json:"content"`
}

// After are the hashes of what the launch left in a range or a variable.
type After struct {
	Variable string `json:"variable,omitempty"`
	Base     uint64 `json:"base,omitempty"`
	Sums     []byte `json:"sums"` // 16 bytes a MiB
}

// Use is what the whole run did with the launch's configuration: what a search may take for
// constant, and what it weighs.
type Use struct {
	// of values, where the configuration's launches have several; all of this is about that set alone
	Set     string  `json:"set,omitempty"`
	Count   int     `json:"count"`            // launches of the configuration
	Varied  int     `json:"varied,omitempty"` // of them, those with other arguments than the first
	Seconds float64 `json:"seconds"`          // on the device, all of them; estimated from samples
	Sampled int     `json:"sampled"`          // launches that were timed
	// of the same by time; none: not known
	Classes []profile.Class `json:"classes,omitempty"`
	Sets    int             `json:"sets"` // captures of the same: the weight is theirs together
	// on the device, of all launches of the kernel that differ from these in grid and block alone; 0:
	// there are no others
	Family float64 `json:"family,omitempty"`
	Params []Param `json:"params,omitempty"`
	// the program asks for the kernel's registers or occupancy
	Asked bool `json:"asked,omitempty"`
	// some of the launches are cooperative, or in clusters (profile.Launch.Together)
	Together bool `json:"together,omitempty"`
	// the program launches it past its host stub
	Past   bool `json:"past,omitempty"`
	passed int  // launches in processes that do so
	// more than half of the configuration's launches came directly behind one of the same
	Row bool `json:"row,omitempty"`
}

// Param is what all launches of a configuration had in common in one parameter.
type Param struct {
	Same  []byte `json:"same"`  // a byte per byte, 1: the same in all of them
	Align int    `json:"align"` // low zero bits that all values had
}

// useOf reads a Use from what a process' agent counted.
func useOf(s profile.Seen) Use {
	u := Use{Count: s.Launch.Count, Varied: s.Varied, Seconds: s.Seconds, Sampled: s.Sampled,
		Classes: s.Classes, Asked: s.Launch.Asked, Together: s.Launch.Together(), Past: s.Launch.Past,
		Row: 2*s.Rows > s.Launch.Count}
	if u.Past {
		u.passed = u.Count
	}
	for _, p := range s.Launch.Params {
		u.Params = append(u.Params, Param{Same: p.Same, Align: p.Align})
	}
	return u
}

// Weight is the share of the run's time that stands for this capture, in seconds; without samples,
// launches count alone.
func (m *Manifest) Weight() float64 {
	w := m.Use.Seconds
	if m.Use.Sampled == 0 {
		w = float64(m.Use.Count) * 1e-6
	}
	return w / float64(max(m.Use.Sets, 1))
}

// Apply gives a launch of the replayer what is known of the program's own. Captures of one
// configuration share its count.
func (u Use) Apply(l *profile.Launch) {
	l.Count, l.Set = max(u.Count/max(u.Sets, 1), 1), u.Set
	l.Asked, l.Past = u.Asked, l.Past || u.Past
	l.Others = l.Others || u.Together
	for i := range l.Params {
		if i < len(u.Params) && len(u.Params[i].Same) == len(l.Params[i].Value) {
			l.Params[i].Same, l.Params[i].Align = u.Params[i].Same, u.Params[i].Align
		}
	}
}

// check refuses a manifest whose parts don't fit together. It may come from another version, or
// another hand.
func (m *Manifest) check() error {
	if m.Version != version {
		return fmt.Errorf("a capture of version %d; this gnvcc has version %d", m.Version, version)
	}
	var last uint64
	for _, r := range m.Ranges {
		if r.Size <= 0 || r.Base < last || r.Base > 1<<47 || r.Size > 1<<46 {
			return damaged("a range of %d bytes at %#x", r.Size, r.Base)
		}
		last = r.Base + uint64(r.Size)
		if err := within(r.Chunks, r.Size); err != nil {
			return err
		}
	}
	for _, a := range m.Arrays {
		if err := within(a.Chunks, a.Size); err != nil || a.Size <= 0 {
			return cmp.Or(err, damaged("an array of %d bytes", a.Size))
		}
	}
	for _, a := range m.Attributes {
		if len(a) != 4+64 {
			return damaged("a launch attribute of %d bytes", len(a))
		}
	}
	if len(m.Settings) == 0 || m.Code.Hash == "" || len(m.UUID) != 32 {
		return damaged("it has no kernel, cubin or device")
	}
	return nil
}

// within refuses chunks that do not lie in what has a size.
func within(list []Chunk, size int64) error {
	for _, c := range list {
		if c.At < 0 || c.Size <= 0 || c.Size > chunkSize || c.At > size-c.Size {
			return damaged("a chunk of %d bytes at %d of %d", c.Size, c.At, size)
		}
	}
	return nil
}

// rangeOf is the number of the range that an address is in, -1: of none.
func (m *Manifest) rangeOf(p uint64) int {
	return slices.IndexFunc(m.Ranges, func(r Range) bool { return p >= r.Base && p-r.Base < uint64(r.Size) })
}

// pointer gives what a launch's argument holds at an offset, as an address; 0: there is no such
// argument.
func (m *Manifest) pointer(index, offset int) uint64 {
	_, params, args, err := settingsOf(m.Settings)
	if err != nil || index < 0 || index >= len(params) || offset < 0 || offset+8 > params[index].Size {
		return 0
	}
	return binary.LittleEndian.Uint64(args[params[index].Offset+offset:])
}

// Judge settles which ranges hold numbers of one kind alone. through tells what the kernel reads
// through pointers in its arguments ("float", ...; "": something else), false where it can't be told;
// content decides on ranges that no argument points to. Where arrays of several kinds lie in one
// range, as in a pool of memory, each goes to where the next one begins, if the kernel reads through
// these pointers alone (direct): what lies between, and is not its own, may be anything.
func (m *Manifest) Judge(direct bool, through func(yield func(index, offset int, kind string))) {
	found := map[int]map[uint64]string{} // by range, and address
	through(func(index, offset int, kind string) {
		p := m.pointer(index, offset)
		i := m.rangeOf(p)
		if i < 0 {
			return
		}
		if found[i] == nil {
			found[i] = map[uint64]string{}
		}
		if old, ok := found[i][p]; ok && old != kind {
			kind = "" // two arguments point there
		}
		found[i][p] = kind
	})
	for i, arrays := range found {
		r := &m.Ranges[i]
		places := slices.Sorted(maps.Keys(arrays))
		r.Parts, r.Numbers = nil, arrays[places[0]]
		if !slices.ContainsFunc(places, func(p uint64) bool { return arrays[p] != r.Numbers }) {
			continue
		}
		r.Numbers = ""
		for k, p := range places {
			end := r.Base + uint64(r.Size)
			if k+1 < len(places) {
				end = places[k+1]
			}
			if direct && varied(arrays[p]) && p%8 == 0 {
				r.Parts = append(r.Parts, Piece{At: int64(p - r.Base), Size: int64(end - p), Numbers: arrays[p]})
			}
		}
	}
}

// kinds are those of recNumbers.
var kinds = map[string]uint32{"float": 1, "double": 2, overwritten: 3, "half": 4, "bfloat16": 5, "near float": 6,
	"near double": 7, "word": 8, "byte": 9}

// overwritten is what a range holds in which nobody reads: any bytes will do.
const overwritten = "bytes"

// Fills reports whether variations put any bytes into ranges that are only written (Overwritten).
func (m *Manifest) Fills() bool {
	return slices.ContainsFunc(m.Ranges, func(r Range) bool { return r.Numbers == overwritten })
}

// Changed reports whether a launch reads anything that a variation changes. Arguments change in every
// second one: second entries that know one are checked in the others.
func (m *Manifest) Changed(variation int) bool {
	return variation%2 == 0 && len(m.Scalars) > 0 || m.Texels && len(m.Arrays) > 0 ||
		slices.ContainsFunc(m.Ranges, Range.Varied) ||
		slices.ContainsFunc(m.Variables, func(v Variable) bool { return varied(v.Numbers) })
}

// Varying counts the arrays that a launch reads, as far as is known: through pointers in its arguments,
// by their places, of its module and its textures; and those of them in which there may be other
// numbers.
func (m *Manifest) Varying(pointers [][2]int) (some, all int) {
	count := func(is bool) {
		if all++; is {
			some++
		}
	}
	for _, at := range pointers {
		p := m.pointer(at[0], at[1])
		if i := m.rangeOf(p); i >= 0 {
			r := m.Ranges[i]
			count(varied(r.Numbers) || slices.ContainsFunc(r.Parts, func(x Piece) bool { return r.Base+uint64(x.At) == p }))
		}
	}
	for _, v := range m.Variables {
		count(varied(v.Numbers))
	}
	for range m.Arrays {
		count(m.Texels)
	}
	return some, all
}

// Overwritten is the capture with any bytes, under variations, in ranges that the kernel writes to
// and does not read, by the arguments that it reads and writes through. Who is to leave there what
// it left in the program has to store it, also where the program had it there before.
func (m *Manifest) Overwritten(read, written [][2]int) *Manifest {
	out := *m
	out.Ranges = slices.Clone(m.Ranges)
	at := func(argument [2]int) int { return m.rangeOf(m.pointer(argument[0], argument[1])) }
	for _, w := range written {
		if n := at(w); n >= 0 && !slices.ContainsFunc(read, func(r [2]int) bool { return at(r) == n }) {
			out.Ranges[n].Numbers, out.Ranges[n].Parts = overwritten, nil
		}
	}
	return &out
}

// settingsOf checks the record of the kernel, and gives what is needed of it.
func settingsOf(body []byte) (name string, params []Span, args []byte, err error) {
	c := profile.Read(body)
	name = c.Str()
	c.Take(3*4 + 3*4 + 5*4 + 8)
	n := c.U32()
	for ; n > 0 && c.Err() == nil; n-- {
		params = append(params, Span{int(c.U32()), int(c.U32())})
	}
	args = c.Bytes()
	if c.End() != nil || name == "" {
		return "", nil, nil, damaged("the kernel's record")
	}
	for _, p := range params {
		if p.Offset+p.Size > len(args) {
			return "", nil, nil, damaged("a parameter outside of the arguments")
		}
	}
	return name, params, args, nil
}

// numbers tells what the words of a chunk could be: floats, doubles, both or neither. Zeros are
// anything. A word counts that is no NaN and has a magnitude between 2^-40 and 2^40: integers below
// 2^23 read as floats are subnormal, and addresses read as doubles too.
type numbers struct{ words, floats, pairs, doubles int }

func (n *numbers) add(b []byte) {
	for i := 0; i+8 <= len(b); i += 8 {
		v := binary.LittleEndian.Uint64(b[i:])
		if v == 0 {
			continue
		}
		n.pairs++
		if e := v >> 52 & 0x7ff; e > 1023-40 && e < 1023+40 || v<<1 == 0 {
			n.doubles++
		}
		for _, w := range [2]uint32{uint32(v), uint32(v >> 32)} {
			if w == 0 {
				continue
			}
			n.words++
			if e := w >> 23 & 0xff; e > 127-40 && e < 127+40 || w<<1 == 0 {
				n.floats++
			}
		}
	}
}

// join adds what another chunk holds.
func (n *numbers) join(o numbers) {
	n.words, n.floats, n.pairs, n.doubles = n.words+o.words, n.floats+o.floats, n.pairs+o.pairs,
		n.doubles+o.doubles
}

// kind judges a range as a whole: all but one in a hundred words must fit.
func (n *numbers) kind() string {
	switch {
	case n.pairs == 0:
		return "zero"
	case n.floats*100 >= n.words*99:
		return "float"
	case n.doubles*100 >= n.pairs*99:
		return "double"
	}
	return ""
}

// write puts the replayer's file together; get gives a chunk's content.
func (m *Manifest) write(w io.Writer, uuid []byte, get func(Chunk) ([]byte, error)) error {
	_, err := io.WriteString(w, magic)
	record := func(t recordType, parts ...[]byte) {
		if err == nil {
			err = writeRecord(w, t, parts...)
		}
	}
	chunk := func(t recordType, c Chunk, head ...[]byte) {
		var b []byte
		if err == nil {
			b, err = get(c)
		}
		record(t, append(head, b)...)
	}
	record(recDevice, str(m.Device), uuid)
	chunk(recCubin, m.Code)
	record(recKernel, m.Settings)
	for _, a := range m.Attributes {
		record(recAttribute, a)
	}
	for _, r := range m.Ranges {
		record(recRange, u64(r.Base), u64(uint64(r.Size)), u32(uint32(flag(r.Host))))
		for _, c := range r.Chunks {
			chunk(recData, c, u64(r.Base+uint64(c.At)))
		}
		if n := kinds[r.Numbers]; n != 0 {
			record(recNumbers, u64(r.Base), u32(n))
		}
		for _, p := range r.Parts {
			record(recPart, u64(r.Base+uint64(p.At)), u64(uint64(p.Size)), u32(kinds[p.Numbers]))
		}
	}
	for _, s := range m.Scalars {
		record(recScalar, u32(uint32(s.Index)), u32(uint32(s.Offset)), u32(kinds[s.Numbers]))
	}
	if m.Texels {
		record(recTexels)
	}
	for _, a := range m.Arrays {
		record(recArray, a.Head)
		for _, c := range a.Chunks {
			chunk(recData, c, u64(uint64(c.At)))
		}
	}
	for _, o := range m.Objects {
		record(recObject, o)
	}
	for _, v := range m.Variables {
		chunk(recVariable, v.Content, str(v.Name), []byte{flag(v.Constant) | byte(kinds[v.Numbers])<<1})
	}
	for _, a := range m.After {
		record(recAfter, str(a.Variable), u64(a.Base), a.Sums)
	}
	record(recEnd)
	return err
}

// flag is 1 for true.
func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
