package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strconv"
)

// The check of decisions.db, as a file: everything that bbolt takes for granted when it opens one
// to write (its internal/common package, version 2), and every record's seal.
//
// bbolt maps the file and follows what stands there. In a damaged file that is a panic at best, and
// for a branch page that leads back to itself a recursion until the stack's limit, which ends the
// process and can't be recovered; a page that is free and in use loses records in silence, later.
// So the owner walks over the file with these lines first (doc.go says why bbolt's own check can't
// stand in), and they save what can be read of one that is damaged. Builds don't come here.
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

	// maxDepth bounds the descent. bbolt splits pages so that a branch has at least two children, and
	// a file of 2^40 pages, each branch with two, has 40 levels.
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
		return nil, fmt.Errorf("truncated: %d bytes where %d pages of %d should be", size, best.pages,
			best.pageSize)
	}
	if metas < 2 {
		// bbolt goes on with the older state. That is right after a loss of power in the middle of a
		// commit, and otherwise loses what was confirmed.
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
		return nil, fmt.Errorf("%w: bbolt's format %d, known is %d", ErrVersion, le.Uint32(m[4:]),
			boltVersion)
	}
	t := &tree{r: r, size: size, pageSize: int64(le.Uint32(m[8:])), root: le.Uint64(m[16:]),
		freelist: le.Uint64(m[32:]), pages: le.Uint64(m[40:]), tx: le.Uint64(m[48:])}
	if t.pageSize < 1024 || t.pageSize > 65536 || t.pageSize&(t.pageSize-1) != 0 ||
		(at != 0 && at != t.pageSize) {
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

// element gives the i-th element of either kind.
func (n *node) element(i int) (key, value []byte, child uint64, flags uint32, err error) {
	if n.flags == leafFlag {
		key, value, flags, err = n.leaf(i)
		return key, value, 0, flags, err
	}
	key, child, err = n.branch(i)
	return key, nil, child, 0, err
}

func (n *node) span(at int, pos, size uint32) ([]byte, error) {
	start := uint64(at) + uint64(pos)
	end := start + uint64(size)
	if end > uint64(len(n.b)) {
		return nil, fmt.Errorf("page %d: an element reaches to byte %d of %d", n.id, end, len(n.b))
	}
	return n.b[start:end:end], nil
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
	n := node{flags: binary.LittleEndian.Uint16(b[8:]), count: int(binary.LittleEndian.Uint16(b[10:])),
		b: b}
	if n.flags != leafFlag {
		return node{}, errors.New("an inline bucket that is no leaf")
	}
	return n, n.fits()
}

// surveyDatabase checks the database at path.
func surveyDatabase(path string, fn func(bucket, key string, stamp int64, raw []byte) error) (
	*survey, error) {
	const doing = "check the database"
	return surveyFile(doing, path, func(f *os.File, size int64) (*survey, error) {
		t, err := openTree(f, size)
		if err != nil {
			return nil, unreadable(doing, path, err)
		}
		s, err := t.survey(fn)
		if err == nil && len(s.Problems) == 0 {
			err = checkSchema(doing, path, s.Schema)
		}
		return s, err
	})
}

func checkSchema(doing, path, version string) error {
	if version == strconv.Itoa(schema) {
		return nil
	}
	if n, err := strconv.Atoi(version); err != nil || n < 1 {
		return corrupt(doing, path, "no store of gnvcc: schema %q", version)
	}
	return &Error{Doing: doing, Path: path, Kind: ErrVersion,
		Err:    fmt.Errorf("it has schema %s, this gnvcc knows %d", version, schema),
		Advice: versionAdvice}
}

// survey reads the whole file. fn, when given, gets each sound record; raw is its body, only valid
// during the call.
func (t *tree) survey(fn func(bucket, key string, stamp int64, raw []byte) error) (*survey, error) {
	s := &survey{Tx: t.tx, Records: map[string]int{}}
	w := &walk{t: t, s: s, used: map[uint64]bool{}}
	if t.meta != nil {
		s.problem("%w", t.meta)
	}
	root, err := t.load(t.root)
	if err != nil {
		s.problem("root: %w", err)
		return s, nil
	}
	err = w.each(root, nil, nil, 0, func(name, value []byte, flags uint32) error {
		if flags&bucketFlag == 0 {
			s.problem("%q is no bucket", name)
			return nil
		}
		top, err := t.bucket(value)
		if err != nil {
			s.problem("bucket %q: %w", name, err)
			return nil
		}
		return w.each(top, nil, nil, 0, func(key, value []byte, flags uint32) error {
			return s.take(string(name), string(key), value, flags, fn)
		})
	})
	if err != nil {
		return s, err
	}
	t.checkFree(w.used, s)
	return s, nil
}

// take looks at one element of a bucket.
func (s *survey) take(bucket, key string, value []byte, flags uint32, fn func(bucket, key string,
	stamp int64, raw []byte) error) error {
	if flags&bucketFlag != 0 {
		s.problem("bucket %q: %q is a bucket", bucket, key)
		return nil
	}
	if bucket == metaBucket {
		switch key {
		case schemaKey:
			s.Schema = string(value)
		case idKey:
			s.ID = string(value)
		}
		return nil
	}
	raw, stamp, err := unseal(where(bucket, key), value)
	if err != nil {
		s.problem("bucket %q, record %q: %w", bucket, key, err)
		return nil
	}
	s.Records[bucket]++
	if fn == nil {
		return nil
	}
	return fn(bucket, key, stamp, raw)
}

// A walk goes over the pages, each once.
type walk struct {
	t    *tree
	s    *survey
	used map[uint64]bool // pages that something refers to
}

// each checks the pages below n (reached once, keys rising, and between the parent's) and calls fn
// for the elements of the leaves. What can't be read is noted and left out.
func (w *walk) each(n node, low, high []byte, depth int, fn func(key, value []byte,
	flags uint32) error) error {
	switch {
	case depth > maxDepth:
		w.s.problem("deeper than %d levels", maxDepth)
		return nil
	case n.flags != branchFlag && n.flags != leafFlag:
		w.s.problem("page %d: neither branch nor leaf", n.id)
		return nil
	case n.id != 0 && !w.reach(n): // an inline page is part of another
		return nil
	}
	var last []byte
	for i := range n.count {
		key, value, child, flags, err := n.element(i)
		if err != nil {
			w.s.problem("%w", err)
			continue
		}
		if len(key) == 0 {
			w.s.problem("page %d: an empty key", n.id)
		}
		if (i > 0 && bytes.Compare(key, last) <= 0) || (i == 0 && bytes.Compare(key, low) < 0) ||
			(high != nil && bytes.Compare(key, high) >= 0) {
			w.s.problem("page %d: key %q stands out of order", n.id, key)
		}
		last = key
		if n.flags == leafFlag {
			if err := fn(key, value, flags); err != nil {
				return err
			}
			continue
		}
		limit := high
		if i+1 < n.count {
			if limit, _, err = n.branch(i + 1); err != nil {
				limit = high // noted in the next turn
			}
		}
		c, err := w.t.load(child)
		if err != nil {
			w.s.problem("%w", err)
			continue
		}
		if err := w.each(c, key, limit, depth+1, fn); err != nil {
			return err
		}
	}
	return nil
}

// reach notes a page and its overflow as used. It is false where one was before.
func (w *walk) reach(n node) bool {
	for id := n.id; id < n.id+uint64(int64(len(n.b))/w.t.pageSize); id++ {
		if w.used[id] {
			w.s.problem("page %d is reached twice", id)
			return false
		}
		w.used[id] = true
	}
	return true
}

// checkFree compares the list of free pages with the pages in use. A page in both would be written
// over.
func (t *tree) checkFree(used map[uint64]bool, s *survey) {
	if t.freelist == noFreelist {
		return
	}
	n, err := t.load(t.freelist)
	if err != nil || n.flags != freelistFlag {
		s.problem("list of free pages: page %d: %v", t.freelist, err)
		return
	}
	for id := n.id; id < n.id+uint64(int64(len(n.b))/t.pageSize); id++ {
		if used[id] {
			s.problem("page %d, of the list of free pages, is in use", id)
		}
		used[id] = true
	}
	count, at := n.count, pageHeader
	if count == 0xffff { // the real count stands in front
		real := binary.LittleEndian.Uint64(n.b[at:])
		if real > uint64(len(n.b)/8) {
			s.problem("list of free pages: %d in %d bytes", real, len(n.b))
			return
		}
		count, at = int(real), at+8
	}
	if at+8*count > len(n.b) {
		s.problem("list of free pages: %d in %d bytes", count, len(n.b))
		return
	}
	for i := range count {
		id := binary.LittleEndian.Uint64(n.b[at+8*i:])
		switch {
		case id < 2 || id >= t.pages:
			s.problem("free page %d of %d", id, t.pages)
		case used[id]:
			s.problem("page %d is free and in use", id)
		}
		used[id] = true
	}
	for id := uint64(2); id < t.pages; id++ {
		if !used[id] {
			s.problem("page %d is neither free nor in use", id)
			return
		}
	}
}
