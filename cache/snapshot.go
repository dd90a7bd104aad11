package cache

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// What builds read: the published snapshot.

// where is what a record's checksum covers besides stamp and body.
func where(bucket, key string) string { return bucket + "\x00" + key }

// A Snapshot is one published state of the decisions. It does not change while it is open, whatever
// the owner does. It may be used from many goroutines. All methods work on nil, as a snapshot
// without records, so that a build may ignore the error of Snapshot.
type Snapshot struct {
	path string
	f    *os.File // nil: in memory
	flat *flat
}

// Snapshot opens what was published last: ErrNone when nothing was, errCorrupt, ErrVersion, or what
// the system said. It takes no lock and never waits.
func (s *Store) Snapshot() (*Snapshot, error) {
	return openSnapshot(filepath.Join(s.dir, snapName))
}

const (
	readDoing     = "read the decisions"
	versionAdvice = "use one version of gnvcc, or give this one a folder of its own (GNVCC_STORE)"
)

func openSnapshot(path string) (*Snapshot, error) {
	f, info, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if errors.Is(err, errIrregular) {
		return nil, corrupt(readDoing, path, "%w", err)
	}
	if err != nil {
		return nil, failed(readDoing, path, err)
	}
	flat, err := openFlat(f, info.Size())
	if err != nil {
		f.Close()
		return nil, unreadable(readDoing, path, err)
	}
	return &Snapshot{path: path, f: f, flat: flat}, nil
}

// unreadable is what openFlat said, as users see it.
func unreadable(doing, path string, err error) error {
	if errors.Is(err, ErrVersion) {
		return &Error{Doing: doing, Path: path, Kind: ErrVersion, Err: err, Advice: versionAdvice}
	}
	return corrupt(doing, path, "%w", err)
}

// ID is that of the store that it was published from, "" for none.
func (sn *Snapshot) ID() string {
	if sn == nil {
		return ""
	}
	return sn.flat.head.ID
}

// Get reads the record at key into into (a pointer, as for json.Unmarshal; nil to know only whether
// there is one). It returns false when there is none.
func (sn *Snapshot) Get(bucket, key string, into any) (bool, error) {
	if sn == nil || !validBucket(bucket) || !validKey(key) {
		return false, nil
	}
	i, same, err := sn.flat.search(where(bucket, key))
	if err == nil && !same {
		return false, nil
	}
	var name string
	var raw []byte
	if err == nil {
		name, _, raw, err = sn.flat.record(i)
	}
	if err == nil && name != where(bucket, key) {
		err = fmt.Errorf("record %q is %q at the second look", key, name)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return false, corrupt(readDoing, sn.path, "bucket %q: %w", bucket, err)
	}
	return true, nil
}

// Each calls fn for each record of the bucket whose key begins with prefix, in the keys' order. raw
// is JSON and only valid during the call. An error of fn ends the walk and is returned. A damaged
// record is passed over; when all is done the first such damage is the error.
func (sn *Snapshot) Each(bucket, prefix string, fn func(key string, raw []byte) error) error {
	if sn == nil || !validBucket(bucket) {
		return nil
	}
	var first error
	trouble := func(err error) {
		if first == nil {
			first = corrupt(readDoing, sn.path, "bucket %q: %w", bucket, err)
		}
	}
	begin, _, err := sn.flat.search(where(bucket, prefix))
	lost := err != nil
	if lost { // look at every one
		trouble(err)
		begin = 0
	}
	all := sn.flat.inOrder()
	for i := begin; i < all.head.Records; i++ {
		name, _, raw, err := all.record(i)
		if name != "" && !strings.HasPrefix(name, where(bucket, prefix)) {
			if lost || first != nil {
				continue
			}
			return nil
		}
		if err != nil {
			trouble(err)
			continue
		}
		if err := fn(name[len(where(bucket, "")):], raw); err != nil {
			return err
		}
	}
	return first
}

// Close gives the file back.
func (sn *Snapshot) Close() error {
	if sn == nil || sn.f == nil {
		return nil
	}
	return sn.f.Close()
}

// surveySnapshot checks the snapshot file at path as a whole. fn, when given, gets each sound
// record, also of a damaged file. Errors: fs.ErrNotExist, ErrVersion, errCorrupt, or what the system
// said.
func surveySnapshot(path string, fn func(bucket, key string, stamp int64, raw []byte) error) (
	*survey, error) {
	const doing = "check the snapshot"
	f, info, err := openRegular(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case errors.Is(err, errIrregular):
		return nil, corrupt(doing, path, "%w", err)
	case err != nil:
		return nil, failed(doing, path, err)
	}
	defer f.Close()
	flat, err := openFlat(f, info.Size())
	if err != nil {
		return nil, unreadable(doing, path, err)
	}
	s, err := flat.survey(fn)
	if err == nil && s.problem != nil {
		err = corrupt(doing, path, "%w", s.problem)
	}
	return s, err
}

// A survey is what the check of a file found.
type survey struct {
	ID      string         // of the store
	Tx      uint64         // publications
	Recipes string         // hash of the file recipes that belongs to it
	Records map[string]int // sound ones by bucket
	problem error          // the first one
}

func (s *survey) wrong(format string, args ...any) {
	if s.problem == nil {
		s.problem = fmt.Errorf(format, args...)
	}
}
