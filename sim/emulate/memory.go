package emulate

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
)

// A Memory is the GPU's: some buffers, with nothing between them. What is read or written outside
// of all is an error.
type Memory struct {
	buffers []*Buffer // by address
	named   map[string]*Buffer
}

// A Buffer is memory at an address.
type Buffer struct {
	Name    string
	Address uint64
	Bytes   []byte
	// what was stored to, but for atomics, if it is not nil: then it has a place for each byte
	Stored []bool
}

// Buffers begin at an address that fits into no 32 bits, with as much room between them that an
// index that is wrong finds no buffer; nor does what is only a little too far.
const (
	firstBuffer = 0x7f1200000000
	betweenThem = 1 << 28
)

// NewMemory is an empty one.
func NewMemory() *Memory { return &Memory{named: map[string]*Buffer{}} }

// Allocate makes a buffer.
func (m *Memory) Allocate(name string, content []byte) *Buffer {
	at := uint64(firstBuffer)
	if n := len(m.buffers); n > 0 {
		last := m.buffers[n-1]
		at = (last.Address + uint64(len(last.Bytes)) + 2*betweenThem - 1) &^ (betweenThem - 1)
	}
	b := &Buffer{Name: name, Address: at, Bytes: content}
	m.buffers = append(m.buffers, b)
	return b
}

// Place puts a buffer where it is to be. It may not meet another one.
func (m *Memory) Place(name string, address uint64, content []byte) (*Buffer, error) {
	n := sort.Search(len(m.buffers), func(n int) bool { return m.buffers[n].Address > address })
	if n > 0 && m.buffers[n-1].Address+uint64(len(m.buffers[n-1].Bytes)) > address ||
		n < len(m.buffers) && address+uint64(len(content)) > m.buffers[n].Address {
		return nil, fmt.Errorf("%s at %#x: another buffer is there", name, address)
	}
	b := &Buffer{Name: name, Address: address, Bytes: content}
	m.buffers = slices.Insert(m.buffers, n, b)
	return b, nil
}

// variable is the place of a program's variable.
func (m *Memory) variable(name string, start []byte) uint64 {
	b := m.named[name]
	if b == nil {
		b = m.Allocate(name, start)
		m.named[name] = b
	}
	return b.Address
}

// Clone is a copy of all contents.
func (m *Memory) Clone() *Memory {
	out := &Memory{named: map[string]*Buffer{}}
	for _, b := range m.buffers {
		c := &Buffer{Name: b.Name, Address: b.Address, Bytes: bytes.Clone(b.Bytes)}
		out.buffers = append(out.buffers, c)
		if m.named[b.Name] == b {
			out.named[b.Name] = c
		}
	}
	return out
}

// Buffers are all, by address.
func (m *Memory) Buffers() []*Buffer { return slices.Clone(m.buffers) }

// at finds size bytes.
func (m *Memory) at(address uint64, size int) ([]byte, error) {
	n := sort.Search(len(m.buffers), func(n int) bool { return m.buffers[n].Address > address })
	if n > 0 {
		b := m.buffers[n-1]
		if from := address - b.Address; from+uint64(size) <= uint64(len(b.Bytes)) {
			if address%uint64(size) != 0 {
				return nil, fmt.Errorf("%d bytes at %#x: the address is no multiple", size, address)
			}
			return b.Bytes[from : from+uint64(size)], nil
		}
		return nil, fmt.Errorf("%d bytes at %#x: there is nothing; %s ends at %#x", size, address, b.Name,
			b.Address+uint64(len(b.Bytes)))
	}
	return nil, fmt.Errorf("%d bytes at %#x: there is nothing", size, address)
}

// stored notes a store, where that is asked for.
func (m *Memory) stored(address uint64, size int) {
	n := sort.Search(len(m.buffers), func(n int) bool { return m.buffers[n].Address > address })
	if n == 0 || m.buffers[n-1].Stored == nil {
		return
	}
	b := m.buffers[n-1]
	from := address - b.Address
	for at := from; at < min(from+uint64(size), uint64(len(b.Stored))); at++ {
		b.Stored[at] = true
	}
}
