package cache

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Derived snapshots: records made of another file, in the snapshot's form, so that they are found
// as fast. They are kept under derived/ by a name that stands for all that they were made of;
// losing one costs the time of making it again.

// maxDerived is how many are kept: those that were used last. A project has one lock file, and a
// few versions of it.
const maxDerived = 8

// A Record is one of a derived snapshot.
type Record struct {
	Bucket, Key string
	Value       any
}

// Derived opens a derived snapshot that was kept; false where there is none that is sound.
func (s *Store) Derived(name string) (*Snapshot, bool) {
	if !validName(name) {
		return nil, false
	}
	sn, err := openSnapshot(filepath.Join(s.dir, derivedName, name))
	return sn, err == nil
}

// Derive makes a snapshot of records and keeps it under a name. Where it can't be kept it is there
// all the same, in memory.
func (s *Store) Derive(name string, records []Record) (*Snapshot, error) {
	const doing = "make an index"
	path := filepath.Join(s.dir, derivedName, name)
	content, err := flatOf(records)
	if err != nil {
		return nil, failed(doing, path, err)
	}
	flat, err := openFlat(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, failed(doing, path, err)
	}
	if validName(name) && s.Writable() == nil {
		_ = writeFile(filepath.Dir(path), name, content, false) // made again where it can't be kept
		s.trimDerived()
	}
	return &Snapshot{path: path, flat: flat}, nil
}

// flatOf is a snapshot's file with the records.
func flatOf(records []Record) ([]byte, error) {
	type named struct {
		name string
		Record
	}
	sorted := make([]named, len(records))
	size := 0
	for i, r := range records {
		sorted[i] = named{where(r.Bucket, r.Key), r}
		if text, ok := r.Value.(wholeText); ok {
			size += 2 + len(sorted[i].name) + len(sealMark) + 32 + len(text) + flatEntry
		}
	}
	slices.SortFunc(sorted, func(a, b named) int { return strings.Compare(a.name, b.name) })
	stamp := time.Now().UnixNano()
	b, head, err := encodeFlat(size, func(add func(bucket, key string, sealed []byte)) error {
		for i, r := range sorted {
			if i > 0 && r.name == sorted[i-1].name {
				return errors.New("two records with the key " + r.Key)
			}
			raw, err := encodeRecord(r.Bucket, r.Key, r.Value)
			if err != nil {
				return err
			}
			add(r.Bucket, r.Key, seal(r.name, stamp, raw))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	head.ID = derivedName
	return b, putFlatHead(b, head)
}

// trimDerived removes those that were made longest ago.
func (s *Store) trimDerived() {
	dir := filepath.Join(s.dir, derivedName)
	removeTemps(dir, tempAge)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= maxDerived {
		return
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, f := range files[min(maxDerived, len(files)):] {
		os.Remove(filepath.Join(dir, f.Name()))
	}
}
