package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// The owner: the one process that writes decisions.db.

// An Owner may be used from many goroutines.
type Owner struct {
	s    *Store
	lock *os.File
	db   *bbolt.DB
	file *os.File // under db
	id   string
	note []string

	mu        sync.Mutex      // Merge, Publish, Close: one at a time
	published uint64          // transaction that the sound snapshot shows, 0 for none
	merged    map[string]bool // spool files whose records the database has and the snapshot not yet

	broken atomic.Pointer[error] // what made bbolt panic; nothing is asked of it any more
}

// Own makes the caller the store's owner, or says ErrOwned at once when there is one. The lock goes
// with the process: an owner that is killed is no owner any more. A damaged database is made anew
// here; Notes says so where anything may be missing in it. ctx ends the preparations, not the ownership.
func (s *Store) Own(ctx context.Context) (*Owner, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.Writable(); err != nil {
		return nil, err
	}
	lock, err := s.takeLock()
	if err != nil {
		return nil, err
	}
	o := &Owner{s: s, lock: lock, merged: map[string]bool{}}
	if err := o.open(ctx); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// takeLock takes owner.lock without waiting. The file is never removed: between two processes that
// lock two files of one name there would be two owners.
func (s *Store) takeLock() (*os.File, error) {
	const doing = "become the store's owner"
	path := filepath.Join(s.dir, lockName)
	// its content is replaced: never that of another file
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, fileMode)
	if err != nil {
		return nil, failed(doing, path, err)
	}
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == syscall.EWOULDBLOCK {
		who, _ := readLimited(path, 1024)
		f.Close()
		if len(who) == 0 {
			who = []byte("another process")
		}
		return nil, &Error{Doing: doing, Path: path, Kind: ErrOwned, Err: fmt.Errorf("%s is the owner",
			who), Advice: "wait until it ends"}
	}
	if err != nil {
		f.Close()
		return nil, failed(doing, path, err)
	}
	// For people, and only that: no error when the disk is full.
	if f.Truncate(0) == nil {
		fmt.Fprintf(f, "process %d since %s", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	}
	return f, nil
}

func boltOptions() *bbolt.Options {
	return &bbolt.Options{
		// Nobody else opens this file; where somebody does (the bbolt tool), an error at once and not a
		// wait.
		Timeout:      time.Millisecond,
		FreelistType: bbolt.FreelistMapType,
		// The same on machines with 4 and 64 KiB pages.
		PageSize: 4096,
	}
}

// open makes sure that decisions.db is one that bbolt can be given, and opens it. bbolt trusts its
// file: a damaged page may end the process. So it gets a database only if that has the content that
// the last owner sealed; any other one (its owner was killed, or bits have flipped) is made anew
// from the snapshot, which holds all that was published, and from the spool, whose files are
// removed after that.
func (o *Owner) open(ctx context.Context) error {
	path := filepath.Join(o.s.dir, dbName)
	removeTemps(o.s.dir, 0) // only owners write in this folder itself
	snap, snapErr := surveySnapshot(filepath.Join(o.s.dir, snapName), nil)
	if errors.Is(snapErr, ErrVersion) {
		return snapErr
	}
	state, err := o.s.database()
	if err != nil {
		return failed("check the database", path, err)
	}
	behind := state.sealed && snapErr == nil && snap.ID == state.id && snap.Tx > state.tx
	if !state.sealed || behind {
		if err := o.rebuild(ctx, state, snapErr); err != nil {
			return err
		}
	}
	options := boltOptions()
	options.OpenFile = func(name string, flag int, mode os.FileMode) (*os.File, error) {
		f, err := os.OpenFile(name, flag|syscall.O_NOFOLLOW, mode)
		o.file = f
		return f, err
	}
	var version string
	err = guard("open the database", path, func() (err error) {
		o.db, err = bbolt.Open(path, fileMode, options)
		if errors.Is(err, bbolterrors.ErrTimeout) {
			return &Error{Doing: "open the database", Path: path, Kind: ErrOwned,
				Err: errors.New("another program has it open"), Advice: "close that program"}
		}
		if err != nil {
			return err
		}
		return o.db.View(func(tx *bbolt.Tx) error {
			meta := tx.Bucket([]byte(metaBucket))
			o.id, version = string(meta.Get([]byte(idKey))), string(meta.Get([]byte(schemaKey)))
			return nil
		})
	})
	if err != nil {
		return failed("open the database", path, err)
	}
	if version != strconv.Itoa(schema) {
		return &Error{Doing: "open the database", Path: path, Kind: ErrVersion,
			Err:    fmt.Errorf("it has schema %s, this gnvcc knows %d", version, schema),
			Advice: versionAdvice}
	}
	if snapErr == nil && snap.ID == o.id && o.s.recipesAre(snap.Recipes) {
		o.published = snap.Tx
	}
	return nil
}

// Notes says what Own had to mend, for the user.
func (o *Owner) Notes() []string { return o.note }

// A stamped value is newer than another by its stamp, except that one from the future (the clock
// went back since) loses against any that is not. Of two with one stamp the bytes decide, so that
// the order of merging does not.
func newer(stamp int64, raw []byte, oldStamp int64, old []byte) bool {
	now := time.Now().UnixNano()
	if future := stamp > now; future != (oldStamp > now) {
		return !future
	}
	if stamp != oldStamp {
		return stamp > oldStamp
	}
	return string(raw) > string(old)
}

// ask has bbolt do something. Once it panicked it may hold locks of its own for ever: from then on
// each call gives that panic's error, and Close leaves bbolt alone.
func (o *Owner) ask(doing, path string, fn func() error) error {
	if err := o.broken.Load(); err != nil {
		return *err
	}
	fine := false
	err := guard(doing, path, func() error {
		err := fn()
		fine = true
		return err
	})
	err = failed(doing, path, err)
	if !fine {
		o.broken.CompareAndSwap(nil, &err)
	}
	return err
}

// update runs one transaction.
func (o *Owner) update(doing string, fn func(tx *bbolt.Tx) error) error {
	return o.ask(doing, filepath.Join(o.s.dir, dbName), func() error { return o.db.Update(fn) })
}

func put(tx *bbolt.Tx, bucket, key string, stamp int64, raw []byte) error {
	b, err := tx.CreateBucketIfNotExists([]byte(bucket))
	if err != nil {
		return err
	}
	return b.Put([]byte(key), seal(where(bucket, key), stamp, raw))
}

// Put writes a record to the database; it is there for good when Publish has returned. It replaces
// what was there, whatever the stamps say.
func (o *Owner) Put(bucket, key string, record any) error {
	return o.PutAll(bucket, map[string]any{key: record})
}

// PutAll writes records of one bucket, by their keys, all of them or none.
func (o *Owner) PutAll(bucket string, records map[string]any) error {
	const doing = "write records"
	raw := map[string][]byte{}
	for key, record := range records {
		b, err := encodeRecord(bucket, key, record)
		if err != nil {
			return failed(doing, filepath.Join(o.s.dir, dbName), err)
		}
		raw[key] = b
	}
	return o.update(doing, func(tx *bbolt.Tx) error {
		for key, b := range raw {
			if err := put(tx, bucket, key, time.Now().UnixNano(), b); err != nil {
				return err
			}
		}
		return nil
	})
}

// Delete removes those records of a bucket that there are, all of them or none.
func (o *Owner) Delete(bucket string, keys ...string) error {
	return o.update("remove a record", func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		if b == nil || !validBucket(bucket) {
			return nil
		}
		for _, key := range keys {
			if err := b.Delete([]byte(key)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Get reads a record as the database has it now, published or not.
func (o *Owner) Get(bucket, key string, into any) (ok bool, err error) {
	path := filepath.Join(o.s.dir, dbName)
	err = o.ask(readDoing, path, func() error {
		return o.db.View(func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte(bucket))
			if b == nil || !validBucket(bucket) {
				return nil
			}
			v := b.Get([]byte(key))
			if v == nil {
				return nil
			}
			raw, _, err := unseal(where(bucket, key), v)
			if err == nil && into != nil {
				err = json.Unmarshal(raw, into)
			}
			if err != nil {
				return corrupt(readDoing, path, "bucket %q, record %q: %w", bucket, key, err)
			}
			ok = true
			return nil
		})
	})
	return ok, err
}

// Merging takes some records a transaction: few syncs, and little lost work when something ends it.
const (
	batchFiles = 1000
	batchBytes = 16 << 20
)

// Merge brings the spool into the database and gives the number of files merged. Publish removes
// the files: a merge that is killed before is done again, with the same result. Files that are no
// records are set aside (.bad), those of a newer gnvcc stay; the rest is merged in any case.
func (o *Owner) Merge() (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	dir := filepath.Join(o.s.dir, spoolName)
	removeTemps(dir, tempAge)
	names, err := o.s.pending()
	if err != nil {
		return 0, failed("merge the spool", dir, err)
	}
	merged := 0
	var unread error
	for len(names) > 0 {
		var batch []*spooled
		var files []string
		size := 0
		for len(names) > 0 && len(batch) < batchFiles && size < batchBytes {
			name := names[0]
			if names = names[1:]; o.merged[name] {
				continue
			}
			r, err := o.s.readSpooled(name)
			var sys *fs.PathError
			switch {
			case err == nil:
				batch, files, size = append(batch, r), append(files, name), size+len(r.Record)
			case errors.Is(err, errNewer), errors.Is(err, fs.ErrNotExist):
			case errors.As(err, &sys):
				unread = failed("merge the spool", filepath.Join(dir, name), err)
			default:
				os.Rename(filepath.Join(dir, name), filepath.Join(dir, name+badExt))
			}
		}
		if len(batch) == 0 {
			continue
		}
		if err := o.mergeBatch(batch); err != nil {
			return merged, err
		}
		for _, name := range files {
			o.merged[name] = true
		}
		merged += len(files)
	}
	return merged, unread
}

func (o *Owner) mergeBatch(batch []*spooled) error {
	return o.update("merge the spool", func(tx *bbolt.Tx) error {
		for _, r := range batch {
			if b := tx.Bucket([]byte(r.Bucket)); b != nil {
				old, stamp, err := unseal(where(r.Bucket, r.Key), b.Get([]byte(r.Key)))
				if err == nil && !newer(r.Stamp, r.Record, stamp, old) {
					continue
				}
			}
			if err := put(tx, r.Bucket, r.Key, r.Stamp, r.Record); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close ends the ownership. What was put and not published is gone then; what was merged and not
// published is still in the spool.
func (o *Owner) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var err error
	if o.db != nil {
		err = o.ask("close the database", filepath.Join(o.s.dir, dbName), o.db.Close)
	}
	if o.broken.Load() != nil && o.file != nil {
		// bbolt's own lock would stay with its mapping of the file.
		syscall.Flock(int(o.file.Fd()), syscall.LOCK_UN)
		o.file.Close()
		o.file = nil
	}
	if o.lock != nil {
		o.lock.Truncate(0)
		o.lock.Close()
		o.lock = nil
	}
	return err
}
