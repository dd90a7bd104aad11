package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The spool: observations on their way to the snapshot, one file each.

const (
	spoolExt = ".json"
	// a spool file that can't be what was written: kept for a month, never read again
	badExt = ".bad"
	badAge = 30 * 24 * time.Hour
)

// A spooled is the content of one file. The file is named by its hash, which shows a torn one.
type spooled struct {
	Schema int
	Bucket string
	Key    string
	Stamp  int64 // nanoseconds since 1970
	Record json.RawMessage
}

// Spool leaves a record for the owner to merge: one file, written under another name and renamed. Snapshots
// show it after the owner's next Merge and Publish; EachPending shows it at once. A decision is
// synced to the disk, since somebody measured for it; the rest is what the next build would say
// again.
func (s *Store) Spool(bucket, key string, record any) error {
	const doing = "leave a record for the store's owner"
	dir := filepath.Join(s.dir, spoolName)
	b, err := encodeSpooled(bucket, key, time.Now().UnixNano(), record)
	if err != nil {
		return failed(doing, dir, err)
	}
	if err := s.Writable(); err != nil {
		return err
	}
	return failed(doing, dir, writeFile(dir, Hash(b)+spoolExt, b, bucket == Decisions))
}

func encodeRecord(bucket, key string, record any) ([]byte, error) {
	if err := checkRecord(bucket, key); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(record)
	if err == nil && len(raw) > maxRecord {
		err = fmt.Errorf("a record of %d bytes: at most %d are taken", len(raw), maxRecord)
	}
	return raw, err
}

func encodeSpooled(bucket, key string, stamp int64, record any) ([]byte, error) {
	raw, err := encodeRecord(bucket, key, record)
	if err != nil {
		return nil, err
	}
	return json.Marshal(spooled{Schema: schema, Bucket: bucket, Key: key, Stamp: stamp, Record: raw})
}

// errNewer is a spool file of a newer gnvcc: it stays where it is.
var errNewer = errors.New("of a newer gnvcc")

// decodeSpooled reads the content of the file called name.
func decodeSpooled(name string, b []byte) (*spooled, error) {
	if Hash(b)+spoolExt != name {
		return nil, errors.New("the content is not what the name says")
	}
	var r spooled
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, err
	}
	if r.Schema > schema {
		return nil, errNewer
	}
	if r.Schema < 1 {
		return nil, fmt.Errorf("schema %d", r.Schema)
	}
	if len(r.Record) > maxRecord {
		return nil, fmt.Errorf("a record of %d bytes", len(r.Record))
	}
	// The record is kept as it is spelled, so that equal records are equal bytes.
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Record); err != nil {
		return nil, err
	}
	r.Record = compact.Bytes()
	return &r, checkRecord(r.Bucket, r.Key)
}

// pending lists the spool's files, and those that are no use any more.
func (s *Store) pending() (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, spoolName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if hash, ok := strings.CutSuffix(e.Name(), spoolExt); ok && IsHash(hash) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (s *Store) readSpooled(name string) (*spooled, error) {
	b, err := readLimited(filepath.Join(s.dir, spoolName, name), maxRecord+maxRecord/4)
	if err != nil {
		return nil, err
	}
	return decodeSpooled(name, b)
}

// EachPending calls fn for the records of a bucket that wait in the spool, in no order. It is for a
// tuner that is not the owner and wants what the last build saw. raw is JSON. Files that can't be
// read are passed over.
func (s *Store) EachPending(bucket string, fn func(key string, raw []byte) error) error {
	names, err := s.pending()
	if err != nil {
		return failed("read the spool", filepath.Join(s.dir, spoolName), err)
	}
	for _, name := range names {
		r, err := s.readSpooled(name)
		if err != nil || r.Bucket != bucket {
			continue
		}
		if err := fn(r.Key, r.Record); err != nil {
			return err
		}
	}
	return nil
}
