package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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
	if validName(name) && s.writable() == nil {
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
	for i, r := range records {
		sorted[i] = named{where(r.Bucket, r.Key), r}
	}
	slices.SortFunc(sorted, func(a, b named) int { return strings.Compare(a.name, b.name) })
	var m memory
	head := flatHeader{ID: derivedName}
	stamp := time.Now().UnixNano()
	err := writeFlat(&m, &head, func(add func(bucket, key string, sealed []byte) error) error {
		for i, r := range sorted {
			if i > 0 && r.name == sorted[i-1].name {
				return errors.New("two records with the key " + r.Key)
			}
			if err := checkRecord(r.Bucket, r.Key); err != nil {
				return err
			}
			body, err := json.Marshal(r.Value)
			if err != nil {
				return err
			}
			if err := add(r.Bucket, r.Key, seal(r.name, stamp, body)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = writeFlatHead(&m, head)
	}
	return m.b, err
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

// memory is a file in memory, as far as writeFlat needs one.
type memory struct {
	b  []byte
	at int
}

func (m *memory) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart || offset < 0 {
		return 0, errors.ErrUnsupported
	}
	m.at = int(offset)
	return offset, nil
}

func (m *memory) Write(p []byte) (int, error) {
	m.WriteAt(p, int64(m.at))
	m.at += len(p)
	return len(p), nil
}

func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	if need := int(at) + len(p); need > len(m.b) {
		m.b = append(m.b, make([]byte, need-len(m.b))...)
	}
	return copy(m.b[at:], p), nil
}
