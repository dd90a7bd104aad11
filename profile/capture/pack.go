package capture

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"

	"gnvcc/profile"
)

// Content on its way into the store and out of it: hashing and compressing take longer than the
// rest, and chunks know nothing of each other.

// workers is how many chunks are worked on at a time, 1 MiB each.
func workers() int { return max(2, runtime.GOMAXPROCS(0)) }

// A packer takes one capture's records.
type packer struct {
	store     *Store
	room      chan struct{}
	wait      sync.WaitGroup
	list      []*piece          // in the order of the file
	array     bool              // the last record with data was an array's
	known     kept              // what earlier captures of the run have
	variables map[string][]byte // hashes of their content, as After has them
	sums      map[int][]byte    // of ranges: their recBefore
}

// kept is content that captures of a run have, by the agent's hash of a whole MiB.
type kept map[[16]byte]*piece

// A piece is a chunk of a range, or of an array.
type piece struct {
	of    int // which one
	array bool
	at    int64
	chunk Chunk
	kind  numbers
	err   error
	sum   [16]byte // the agent's hash of it
}

// A capture is packed while the program runs, which is to have half of the processors at least.
func (s *Store) packer() *packer {
	return &packer{store: s, room: make(chan struct{}, max(2, workers()/2)),
		variables: map[string][]byte{}, sums: map[int][]byte{}}
}

// put keeps a chunk, while the next ones are read.
func (p *packer) put(of int, array bool, at int64, content []byte) {
	x := &piece{of: of, at: at, array: array}
	told := make([]byte, 16) // by the agent
	if i := int(at / chunkSize); !array && len(content) == chunkSize && at%chunkSize == 0 &&
		(i+1)*beforeSize <= len(p.sums[of]) {
		told = p.sums[of][i*beforeSize+1:][:16] // zeros: it is not known
	}
	p.list = append(p.list, x)
	p.room <- struct{}{}
	p.wait.Add(1)
	go func() {
		defer p.wait.Done()
		x.kind.add(content)
		if x.sum = Sum(content); !bytes.Equal(told, make([]byte, 16)) && !bytes.Equal(told, x.sum[:]) {
			x.err = errors.New("memory changed between two looks at it, with the device at rest: " +
				"another process or device writes to it")
		} else {
			x.chunk, x.err = p.store.put(content)
		}
		<-p.room
	}()
}

// Sum is the agent's hash of a chunk (profile/agent/source/hash.h).
func Sum(b []byte) (out [16]byte) {
	mix := func(v uint64) uint64 {
		v ^= v >> 32
		v *= 0xd6e8feb86659fd93
		v ^= v >> 29
		v *= 0x9fb21c651e98df25
		return v ^ v>>32
	}
	var last [8]byte
	var x, y uint64
	for i := uint64(1); len(b) > 0; i++ {
		word := b
		if len(b) < 8 {
			copy(last[:], b)
			word = last[:]
		}
		v := binary.LittleEndian.Uint64(word)
		x += mix(v + i*0x9e3779b97f4a7c15)
		y += mix(v ^ i*0xc2b2ae3d27d4eb4f)
		b = b[min(8, len(b)):]
	}
	binary.LittleEndian.PutUint64(out[:], x)
	binary.LittleEndian.PutUint64(out[8:], y)
	return out
}

// beforeSize is what recBefore has for a MiB, bytes.
const beforeSize = 17

// before takes the hashes of a range, and those of its chunks that an earlier capture has.
func (p *packer) before(m *Manifest, body []byte) error {
	of := len(m.Ranges) - 1
	if of < 0 || p.array || int64(len(body)) != m.Ranges[of].Size/chunkSize*beforeSize {
		return damaged("hashes of no range")
	}
	p.sums[of] = body
	for i := 0; i*beforeSize < len(body); i++ {
		b := body[i*beforeSize:]
		if b[0] == 0 {
			continue
		}
		old := p.known[[16]byte(b[1:beforeSize])]
		if old == nil {
			return damaged("an earlier capture could not be kept, and this one has the same content")
		}
		m.Filled += chunkSize
		p.list = append(p.list, &piece{of: of, at: int64(i) * chunkSize, chunk: old.chunk,
			kind: old.kind, sum: old.sum})
	}
	return nil
}

// finish waits for all chunks, and enters them. What is kept is known, also where others are not:
// the agent takes the file for kept.
func (p *packer) finish(m *Manifest) error {
	p.wait.Wait()
	kinds := make([]numbers, len(m.Ranges))
	var err error
	for _, x := range p.list {
		if x.err != nil {
			err = cmp.Or(err, x.err)
			continue
		}
		x.chunk.At = x.at
		if x.array {
			m.Arrays[x.of].Chunks = append(m.Arrays[x.of].Chunks, x.chunk)
			continue
		}
		m.Ranges[x.of].Chunks = append(m.Ranges[x.of].Chunks, x.chunk)
		kinds[x.of].join(x.kind)
		if p.known != nil && x.chunk.Size == chunkSize {
			p.known[x.sum] = x
		}
	}
	if err != nil {
		return err
	}
	m.Settles = p.settles(m)
	for i := range m.Ranges {
		slices.SortFunc(m.Ranges[i].Chunks, func(a, b Chunk) int { return cmp.Compare(a.At, b.At) })
		m.Ranges[i].Numbers = kinds[i].kind()
	}
	return nil
}

// settles reports whether the launch left all memory as it found it, by the agent's hashes.
func (p *packer) settles(m *Manifest) bool {
	left := map[uint64][]byte{} // in ranges
	for _, a := range m.After {
		if a.Variable == "" {
			left[a.Base] = a.Sums
		} else if !bytes.Equal(a.Sums, p.variables[a.Variable]) {
			return false
		}
	}
	found, nothing := map[uint64][]byte{}, Sum(make([]byte, chunkSize))
	for _, r := range m.Ranges {
		whole, rest := r.Size/chunkSize, sums(make([]byte, r.Size%chunkSize))
		if int64(len(left[r.Base])) != whole*16+int64(len(rest)) {
			return false // also where it is not known what was left
		}
		found[r.Base] = append(bytes.Repeat(nothing[:], int(whole)), rest...)
	}
	for _, x := range p.list {
		if x.array || x.at%chunkSize != 0 {
			return false // arrays are not compared
		}
		copy(found[m.Ranges[x.of].Base][x.at/chunkSize*16:], x.sum[:])
	}
	return maps.EqualFunc(found, left, bytes.Equal)
}

// sums are those of content, one after the other.
func sums(content []byte) (out []byte) {
	for part := range slices.Chunk(content, chunkSize) {
		sum := Sum(part)
		out = append(out, sum[:]...)
	}
	return out
}

// record takes one record of the agent's.
func (p *packer) record(m *Manifest, t recordType, body []byte) error {
	c := profile.Read(body)
	switch t {
	case recKernel:
		name, _, _, err := settingsOf(body)
		m.Kernel, m.Settings = name, body
		return err
	case recAttribute:
		m.Attributes = append(m.Attributes, body)
	case recRange:
		r := Range{Base: c.U64(), Size: int64(c.U64()), Host: c.U32() != 0}
		m.Ranges = append(m.Ranges, r)
		m.Bytes += r.Size
		p.array = false
	case recBefore:
		return p.before(m, body)
	case recArray:
		c.U64()
		a := Array{Head: body, Size: int64(c.U64())}
		m.Arrays = append(m.Arrays, a)
		m.Bytes += a.Size
		p.array = true
	case recObject:
		m.Objects = append(m.Objects, body)
	case recData:
		of, at := len(m.Arrays)-1, c.U64()
		array := p.array && of >= 0 && at < uint64(m.Arrays[of].Size)
		if !array {
			if of = m.rangeOf(at); of >= 0 {
				at -= m.Ranges[of].Base
			}
		}
		if of < 0 || len(body) > 8+chunkSize {
			return damaged("data for no range")
		}
		content := c.Rest()
		m.Filled += int64(len(content))
		p.put(of, array, int64(at), content)
	case recVariable:
		v := Variable{Name: c.Str(), Constant: c.U8() != 0}
		content := c.Rest()
		p.variables[v.Name] = sums(content)
		m.Bytes += int64(len(content))
		m.Filled += int64(len(content))
		var err error
		v.Content, err = p.store.put(content)
		m.Variables = append(m.Variables, v)
		if err != nil {
			return err
		}
	case recAfter:
		m.After = append(m.After, After{Variable: c.Str(), Base: c.U64(), Sums: c.Rest()})
	default:
		return damaged("a record of type %d", t)
	}
	if c.Err() != nil {
		return damaged("a record of type %d", t)
	}
	return nil
}

// ahead gives chunks one after the other, in this order, while it reads the next ones. stop ends
// it, and waits for what is being read: a reader that comes later would remove, as damaged, what
// the next capture has just found there.
func (s *Store) ahead(list []Chunk) (next func(Chunk) ([]byte, error), stop func()) {
	type result struct {
		of  Chunk
		b   []byte
		err error
	}
	futures, done := make(chan chan result, 2*workers()), make(chan struct{})
	go func() {
		defer close(futures)
		for _, c := range list {
			f := make(chan result, 1)
			select {
			case futures <- f:
			case <-done:
				return
			}
			go func() {
				b, err := s.get(c)
				f <- result{c, b, err}
			}()
		}
	}()
	stop = func() {
		close(done)
		for f := range futures {
			<-f
		}
	}
	return func(c Chunk) ([]byte, error) {
		f, ok := <-futures
		if !ok {
			return nil, damaged("a chunk that is not listed")
		}
		r := <-f
		if r.of != c && r.err == nil {
			return nil, damaged("chunks are listed in another order")
		}
		return r.b, r.err
	}, stop
}
