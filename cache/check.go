package cache

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The check of a whole database: everything that bbolt takes for granted when it opens a file to write, and every
// record's checksum. bbolt has such a check of its own, which follows the same pointers that it checks.

// maxProblems bounds what is reported of one file.
const maxProblems = 20

// A survey is what a check found.
type survey struct {
	Schema   string
	ID       string         // of the database: copies have their original's
	Tx       uint64         // transactions since it was made
	Records  map[string]int // sound ones by bucket
	Problems []error        // the first ones
}

func (s *survey) problem(format string, args ...any) {
	if len(s.Problems) < maxProblems {
		s.Problems = append(s.Problems, fmt.Errorf(format, args...))
	}
}

// survey reads the whole file. fn, when given, gets each sound record; raw is its body, key and raw are only valid during the call.
func (t *tree) survey(fn func(bucket, key string, stamp int64, raw []byte) error) (*survey, error) {
	s := &survey{Tx: t.tx, Records: map[string]int{}}
	used := map[uint64]bool{} // pages that something refers to
	if t.meta != nil {
		s.problem("%w", t.meta)
	}
	root, err := t.load(t.root)
	if err != nil {
		s.problem("root: %w", err)
		return s, nil
	}
	t.order(root, nil, nil, 0, used, s)
	err = t.each(root, "", func(name, value []byte, flags uint32) error {
		if flags&bucketFlag == 0 {
			s.problem("%q is no bucket", name)
			return nil
		}
		top, err := t.bucket(value)
		if err != nil {
			s.problem("bucket %q: %w", name, err)
			return nil
		}
		t.order(top, nil, nil, 0, used, s)
		bucket := string(name)
		return t.each(top, "", func(key, value []byte, flags uint32) error {
			if flags&bucketFlag != 0 {
				s.problem("bucket %q: %q is a bucket", bucket, key)
				return nil
			}
			if bucket == metaBucket {
				switch string(key) {
				case schemaKey:
					s.Schema = string(value)
				case idKey:
					s.ID = string(value)
				}
				return nil
			}
			raw, stamp, err := unseal(where(bucket, string(key)), value)
			if err != nil {
				s.problem("bucket %q, record %q: %w", bucket, key, err)
				return nil
			}
			s.Records[bucket]++
			if fn == nil {
				return nil
			}
			return fn(bucket, string(key), stamp, raw)
		}, func(error) error { return nil }) // order has told it
	}, func(error) error { return nil })
	if err != nil {
		return s, err
	}
	t.checkFree(used, s)
	return s, nil
}

// order checks the pages below n: reached once, keys rising, and between the parent's.
func (t *tree) order(n node, low, high []byte, depth int, used map[uint64]bool, s *survey) {
	if depth > maxDepth {
		s.problem("deeper than %d levels", maxDepth)
		return
	}
	if n.id != 0 { // an inline page is part of another
		if n.flags != branchFlag && n.flags != leafFlag {
			s.problem("page %d: neither branch nor leaf", n.id)
			return
		}
		for id := n.id; id < n.id+uint64(int64(len(n.b))/t.pageSize); id++ {
			if used[id] {
				s.problem("page %d is reached twice", id)
				return
			}
			used[id] = true
		}
	}
	var last []byte
	for i := range n.count {
		var key []byte
		var child uint64
		var err error
		if n.flags == leafFlag {
			key, _, _, err = n.leaf(i)
		} else {
			key, child, err = n.branch(i)
		}
		if err != nil {
			s.problem("%w", err)
			return
		}
		if len(key) == 0 {
			s.problem("page %d: an empty key", n.id)
		}
		if (i > 0 && bytes.Compare(key, last) <= 0) || (i == 0 && bytes.Compare(key, low) < 0) || (high != nil && bytes.Compare(key, high) >= 0) {
			s.problem("page %d: key %q stands out of order", n.id, key)
		}
		last = key
		if n.flags != branchFlag {
			continue
		}
		limit := high
		if i+1 < n.count {
			if limit, _, err = n.branch(i + 1); err != nil {
				s.problem("%w", err)
				return
			}
		}
		if used[child] {
			s.problem("page %d is reached twice", child)
			continue
		}
		c, err := t.load(child)
		if err != nil {
			s.problem("%w", err)
			continue
		}
		t.order(c, key, limit, depth+1, used, s)
	}
}

// checkFree compares the list of free pages with the pages in use. A page in both would be written over.
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
