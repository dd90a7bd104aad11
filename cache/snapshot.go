package cache

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// What builds read: the published snapshot.

// The meta bucket holds what concerns the database as a whole, unsealed.
const (
	metaBucket = "gnvcc"
	schemaKey  = "schema"
	idKey      = "id" // random, made with the database: tells a copy of this one from a copy of another
)

// where is what a record's checksum covers beside stamp and body.
func where(bucket, key string) string { return bucket + "\x00" + key }

// A Snapshot is one published state of the decisions. It does not change while it is open, whatever the owner does. It
// may be used from many goroutines. All methods work on nil, as a snapshot without records, so that a build may ignore
// the error of Snapshot.
type Snapshot struct {
	path string
	f    *os.File
	t    *tree
	root node // of the buckets' names: read once
}

// Snapshot opens decisions.ro.db: ErrNone when nothing was published, ErrCorrupt, ErrVersion, or what the system said.
// It takes no lock and never waits.
func (s *Store) Snapshot() (*Snapshot, error) {
	return openSnapshot(filepath.Join(s.dir, roName))
}

const readDoing = "read the decisions"

func openSnapshot(path string) (*Snapshot, error) {
	f, _, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if errors.Is(err, errIrregular) {
		return nil, corrupt(readDoing, path, "%w", err)
	}
	if err != nil {
		return nil, failed(readDoing, path, err)
	}
	sn := &Snapshot{path: path, f: f}
	if err := sn.open(); err != nil {
		f.Close()
		return nil, err
	}
	return sn, nil
}

func (sn *Snapshot) open() error {
	info, err := sn.f.Stat()
	if err != nil {
		return failed(readDoing, sn.path, err)
	}
	if sn.t, err = openTree(sn.f, info.Size()); err != nil {
		return unreadable(readDoing, sn.path, err)
	}
	if sn.root, err = sn.t.load(sn.t.root); err != nil {
		return corrupt(readDoing, sn.path, "%w", err)
	}
	version, _, err := sn.value(metaBucket, schemaKey)
	if err != nil {
		return err
	}
	return checkSchema(readDoing, sn.path, string(version))
}

const versionAdvice = "use one version of gnvcc, or give this one a folder of its own (GNVCC_STORE)"

// unreadable is what openTree said, as users see it.
func unreadable(doing, path string, err error) error {
	if errors.Is(err, ErrVersion) {
		return &Error{Doing: doing, Path: path, Kind: ErrVersion, Err: err, Advice: versionAdvice}
	}
	return corrupt(doing, path, "%w", err)
}

func checkSchema(doing, path, version string) error {
	if version == strconv.Itoa(schema) {
		return nil
	}
	if n, err := strconv.Atoi(version); err != nil || n < 1 {
		return corrupt(doing, path, "no store of gnvcc: schema %q", version)
	}
	return &Error{Doing: doing, Path: path, Kind: ErrVersion, Err: fmt.Errorf("it has schema %s, this gnvcc knows %d", version, schema),
		Advice: versionAdvice}
}

// value looks a raw value up.
func (sn *Snapshot) value(bucket, key string) ([]byte, bool, error) {
	head, flags, ok, err := sn.t.find(sn.root, bucket)
	if err == nil && ok && flags&bucketFlag == 0 {
		err = fmt.Errorf("%q is no bucket", bucket)
	}
	if err != nil {
		return nil, false, corrupt(readDoing, sn.path, "%w", err)
	}
	if !ok {
		return nil, false, nil
	}
	top, err := sn.t.bucket(head)
	if err != nil {
		return nil, false, corrupt(readDoing, sn.path, "bucket %q: %w", bucket, err)
	}
	v, flags, ok, err := sn.t.find(top, key)
	if err == nil && ok && flags&bucketFlag != 0 {
		err = errors.New("a bucket where a record should be")
	}
	if err != nil {
		return nil, false, corrupt(readDoing, sn.path, "bucket %q: %w", bucket, err)
	}
	return v, ok, nil
}

// Get reads the record at key into into (a pointer, as for json.Unmarshal; nil to know only whether there is one). It
// returns false when there is none.
func (sn *Snapshot) Get(bucket, key string, into any) (bool, error) {
	if sn == nil || !validBucket(bucket) {
		return false, nil
	}
	v, ok, err := sn.value(bucket, key)
	if err != nil || !ok {
		return false, err
	}
	raw, _, err := unseal(where(bucket, key), v)
	if err == nil && into != nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return false, corrupt(readDoing, sn.path, "bucket %q, record %q: %w", bucket, key, err)
	}
	return true, nil
}

// Each calls fn for each record of the bucket whose key begins with prefix, in the keys' order. raw is JSON and only valid
// during the call. An error of fn ends the walk and is returned. A damaged record is passed over; when all is done the
// first such damage is the error.
func (sn *Snapshot) Each(bucket, prefix string, fn func(key string, raw []byte) error) error {
	if sn == nil || !validBucket(bucket) {
		return nil
	}
	head, flags, ok, err := sn.t.find(sn.root, bucket)
	if err != nil {
		return corrupt(readDoing, sn.path, "%w", err)
	}
	if !ok || flags&bucketFlag == 0 {
		return nil
	}
	var first error
	trouble := func(err error) error {
		if first == nil {
			first = corrupt(readDoing, sn.path, "bucket %q: %w", bucket, err)
		}
		return nil
	}
	top, err := sn.t.bucket(head)
	if err != nil {
		return corrupt(readDoing, sn.path, "bucket %q: %w", bucket, err)
	}
	err = sn.t.each(top, prefix, func(key, value []byte, flags uint32) error {
		if flags&bucketFlag != 0 {
			return trouble(fmt.Errorf("%q is a bucket", key))
		}
		raw, _, err := unseal(where(bucket, string(key)), value)
		if err != nil {
			return trouble(fmt.Errorf("record %q: %w", key, err))
		}
		return fn(string(key), raw)
	}, trouble)
	if err != nil {
		return err
	}
	return first
}

// Close gives the file back.
func (sn *Snapshot) Close() error {
	if sn == nil {
		return nil
	}
	return sn.f.Close()
}
