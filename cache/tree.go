package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
)

// A reader of bbolt's file format (its internal/common package, version 2) that survives any content.
//
// bbolt maps the file and follows what stands there. In a damaged file that is a panic at best, a fault where the file was
// truncated, and for a branch page that leads back to itself a recursion until the stack's limit, which ends the process
// and can't be recovered. A build must go on whatever the store is like. So builds read the snapshot with these lines:
// pread in place of a mapping, each offset checked, each descent bounded. They also check decisions.db as a whole before
// bbolt may open it to write, and they save what can be read of one that is damaged. A bonus: no lock, and no page
// faults; opening takes some 10 microseconds.
//
//	page     id u64, flags u16, count u16, overflow u32, then elements, then their data; (1+overflow) pages long
//	branch   element: pos u32 (from the element's start), key size u32, page id u64
//	leaf     element: flags u32, pos u32, key size u32, value size u32; the value follows the key
//	bucket   a leaf's value with flag 1: root page u64, sequence u64; root 0: an inline page follows
//	meta     pages 0 and 1: magic, version, page size, flags u32, root bucket, freelist u64, pages u64, tx u64, FNV-1a u64

const (
	pageHeader   = 16
	elementSize  = 16 // of branch and leaf alike
	branchFlag   = 0x01
	leafFlag     = 0x02
	metaFlag     = 0x04
	freelistFlag = 0x10
	bucketFlag   = 0x01 // of a leaf's element

	boltMagic   = 0xED0CDAED
	boltVersion = 2
	noFreelist  = ^uint64(0)
	metaSize    = 64

	// maxDepth bounds the descent. bbolt splits pages so that a branch has at least two children, and a file of 2^40
	// pages, each branch with two, has 40 levels.
	maxDepth = 48
	// maxPage bounds what is read as one page: the largest record and its company.
	maxPage = 2 * maxRecord
)

// A tree is an open bbolt file.
type tree struct {
	r        io.ReaderAt
	size     int64 // of the file, bytes
	pageSize int64
	root     uint64
	freelist uint64
	pages    uint64 // pages in use, free ones among them
	tx       uint64 // number of the last transaction
	meta     error  // what is wrong with the other meta page
}

// A node is one page's content. The elements are looked at one by one, checked as they are.
type node struct {
	id    uint64
	flags uint16
	count int
	b     []byte
}

// openTree reads the newest sound meta page, as bbolt does.
func openTree(r io.ReaderAt, size int64) (*tree, error) {
	var best *tree
	var first error
	metas := 0
	for _, at := range []int64{0, 4096, 1024, 2048, 8192, 16384, 32768, 65536} {
		if best != nil && at != 0 && at != best.pageSize {
			continue // the first meta says where the second one is
		}
		t, err := readMeta(r, size, at)
		if err != nil {
			if first == nil && (at == 0 || best != nil) {
				first = err
			}
			continue
		}
		metas++
		if best == nil || t.tx > best.tx {
			best = t
		}
	}
	if best == nil {
		return nil, first
	}
	if best.size/best.pageSize < int64(best.pages) {
		return nil, fmt.Errorf("truncated: %d bytes where %d pages of %d should be", size, best.pages, best.pageSize)
	}
	if metas < 2 {
		// bbolt goes on with the older state. That is right after a loss of power in the middle of a commit, and
		// otherwise loses what was confirmed.
		best.meta = fmt.Errorf("one of two meta pages: %w", first)
	}
	return best, nil
}

func readMeta(r io.ReaderAt, size, at int64) (*tree, error) {
	var b [pageHeader + metaSize]byte
	if _, err := r.ReadAt(b[:], at); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("too short for a database: %d bytes", size)
		}
		return nil, err
	}
	m := b[pageHeader:]
	le := binary.LittleEndian
	h := fnv.New64a()
	h.Write(m[:metaSize-8])
	switch {
	case le.Uint32(m) != boltMagic:
		return nil, errors.New("not a bbolt file")
	case le.Uint64(m[56:]) != h.Sum64():
		return nil, errors.New("meta page has a wrong checksum")
	case le.Uint32(m[4:]) != boltVersion:
		return nil, fmt.Errorf("%w: bbolt's format %d, known is %d", ErrVersion, le.Uint32(m[4:]), boltVersion)
	}
	t := &tree{r: r, size: size, pageSize: int64(le.Uint32(m[8:])), root: le.Uint64(m[16:]),
		freelist: le.Uint64(m[32:]), pages: le.Uint64(m[40:]), tx: le.Uint64(m[48:])}
	if t.pageSize < 1024 || t.pageSize > 65536 || t.pageSize&(t.pageSize-1) != 0 || (at != 0 && at != t.pageSize) {
		return nil, fmt.Errorf("a page size of %d", t.pageSize)
	}
	if t.pages > 1<<40 {
		return nil, fmt.Errorf("%d pages", t.pages)
	}
	return t, nil
}

// load reads page id with its overflow.
func (t *tree) load(id uint64) (node, error) {
	if id < 2 || id >= t.pages {
		return node{}, fmt.Errorf("page %d of %d", id, t.pages)
	}
	b := make([]byte, t.pageSize)
	if _, err := t.r.ReadAt(b, int64(id)*t.pageSize); err != nil {
		return node{}, fmt.Errorf("page %d: %w", id, err)
	}
	le := binary.LittleEndian
	n := node{id: id, flags: le.Uint16(b[8:]), count: int(le.Uint16(b[10:])), b: b}
	if got := le.Uint64(b); got != id {
		return node{}, fmt.Errorf("page %d says that it is page %d", id, got)
	}
	if more := uint64(le.Uint32(b[12:])); more > 0 {
		if id+more >= t.pages || int64(more+1)*t.pageSize > maxPage {
			return node{}, fmt.Errorf("page %d with %d more of %d", id, more, t.pages)
		}
		n.b = make([]byte, int64(more+1)*t.pageSize)
		copy(n.b, b)
		if _, err := t.r.ReadAt(n.b[t.pageSize:], int64(id)*t.pageSize+t.pageSize); err != nil {
			return node{}, fmt.Errorf("page %d: %w", id, err)
		}
	}
	if n.flags != branchFlag && n.flags != leafFlag && n.flags != freelistFlag {
		return node{}, fmt.Errorf("page %d is of no known type (%#x)", id, n.flags)
	}
	if n.flags != freelistFlag {
		return n, n.fits()
	}
	return n, nil
}

func (n *node) fits() error {
	if pageHeader+n.count*elementSize > len(n.b) {
		return fmt.Errorf("page %d: %d elements in %d bytes", n.id, n.count, len(n.b))
	}
	if n.flags == branchFlag && n.count == 0 {
		return fmt.Errorf("page %d: a branch without children", n.id)
	}
	return nil
}

// branch gives the i-th child's first key and its page.
func (n *node) branch(i int) (key []byte, child uint64, err error) {
	at := pageHeader + i*elementSize
	le := binary.LittleEndian
	key, err = n.span(at, le.Uint32(n.b[at:]), le.Uint32(n.b[at+4:]))
	return key, le.Uint64(n.b[at+8:]), err
}

// leaf gives the i-th element.
func (n *node) leaf(i int) (key, value []byte, flags uint32, err error) {
	at := pageHeader + i*elementSize
	le := binary.LittleEndian
	pos, ksize, vsize := le.Uint32(n.b[at+4:]), le.Uint32(n.b[at+8:]), le.Uint32(n.b[at+12:])
	if key, err = n.span(at, pos, ksize); err == nil {
		// uint64: pos+ksize may exceed 32 bits, but not after span has agreed to it.
		value, err = n.span(at, pos+ksize, vsize)
	}
	return key, value, le.Uint32(n.b[at:]), err
}

func (n *node) span(at int, pos, size uint32) ([]byte, error) {
	start := uint64(at) + uint64(pos)
	end := start + uint64(size)
	if end > uint64(len(n.b)) {
		return nil, fmt.Errorf("page %d: an element reaches to byte %d of %d", n.id, end, len(n.b))
	}
	return n.b[start:end:end], nil
}

// find looks for key below n.
func (t *tree) find(n node, key string) (value []byte, flags uint32, ok bool, err error) {
	for range maxDepth {
		if n.flags == leafFlag {
			lo, hi := 0, n.count
			for lo < hi {
				mid := (lo + hi) / 2
				k, v, f, err := n.leaf(mid)
				if err != nil {
					return nil, 0, false, err
				}
				switch c := strings.Compare(string(k), key); {
				case c == 0:
					return v, f, true, nil
				case c < 0:
					lo = mid + 1
				default:
					hi = mid
				}
			}
			return nil, 0, false, nil
		}
		if n.flags != branchFlag {
			return nil, 0, false, fmt.Errorf("page %d: neither branch nor leaf", n.id)
		}
		// The last child whose first key is not above key; the first child takes what is below all.
		lo, hi := 0, n.count
		for lo < hi {
			mid := (lo + hi) / 2
			k, _, err := n.branch(mid)
			if err != nil {
				return nil, 0, false, err
			}
			if strings.Compare(string(k), key) <= 0 {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		_, child, err := n.branch(max(lo-1, 0))
		if err != nil {
			return nil, 0, false, err
		}
		if n, err = t.load(child); err != nil {
			return nil, 0, false, err
		}
	}
	return nil, 0, false, fmt.Errorf("deeper than %d levels", maxDepth)
}

// bucket gives the root node of a bucket, from the value that stands for it.
func (t *tree) bucket(value []byte) (node, error) {
	if len(value) < 16 {
		return node{}, fmt.Errorf("a bucket of %d bytes", len(value))
	}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		return t.load(root)
	}
	b := value[16:]
	if len(b) < pageHeader {
		return node{}, fmt.Errorf("an inline bucket of %d bytes", len(b))
	}
	n := node{flags: binary.LittleEndian.Uint16(b[8:]), count: int(binary.LittleEndian.Uint16(b[10:])), b: b}
	if n.flags != leafFlag {
		return node{}, errors.New("an inline bucket that is no leaf")
	}
	return n, n.fits()
}

// each calls fn for the elements below n whose keys begin with prefix, in order. trouble is told what can't be read;
// the walk leaves that part out and goes on when trouble returns nil.
func (t *tree) each(n node, prefix string, fn func(key, value []byte, flags uint32) error, trouble func(error) error) error {
	seen := map[uint64]bool{n.id: true}
	var walk func(n node, depth int) error
	walk = func(n node, depth int) error {
		switch {
		case depth > maxDepth:
			return trouble(fmt.Errorf("deeper than %d levels", maxDepth))
		case n.flags == leafFlag:
			for i := range n.count {
				k, v, f, err := n.leaf(i)
				if err != nil {
					if err = trouble(err); err != nil {
						return err
					}
					continue
				}
				if !bytes.HasPrefix(k, []byte(prefix)) {
					continue
				}
				if err := fn(k, v, f); err != nil {
					return err
				}
			}
			return nil
		case n.flags != branchFlag:
			return trouble(fmt.Errorf("page %d: neither branch nor leaf", n.id))
		}
		for i := range n.count {
			k, id, err := n.branch(i)
			if err == nil && string(k) > prefix && !bytes.HasPrefix(k, []byte(prefix)) && i > 0 {
				return nil // this child and what follows lie behind the prefix
			}
			if err == nil && i+1 < n.count {
				if next, _, nerr := n.branch(i + 1); nerr == nil && string(next) <= prefix {
					continue // everything in this child is below next
				}
			}
			var child node
			if err == nil && seen[id] {
				err = fmt.Errorf("page %d is reached twice", id)
			}
			if err == nil {
				seen[id] = true
				child, err = t.load(id)
			}
			if err != nil {
				err = trouble(err)
			} else {
				err = walk(child, depth+1)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return walk(n, 0)
}
