package cache

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The owner: the one process that writes the database and the snapshot. It has all records in memory, as
// they were published last and as they are to be published next.

// An Owner may be used from many goroutines.
type Owner struct {
	s    *Store
	note []string

	mu      sync.Mutex
	lock    *os.File          // nil: the ownership has ended
	records map[string][]byte // sealed, by bucket NUL key
	id      string            // of this store; its snapshots have it
	tx      uint64            // publications so far
	changed bool              // the snapshot has other records, or the file recipes is not its own
	dirty   map[string]bool   // names of the records that changed since
	inStep  bool              // the database holds the last publication
	merged  map[string]bool   // spool files whose records are here and not yet in the snapshot
}

// Own makes the caller the store's owner, or says ErrOwned at once when there is one. The lock goes
// with the process: an owner that is killed is no owner any more. Of a damaged snapshot what can be
// read is taken; Notes says so. ctx ends the preparations, not the ownership.
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
	o := &Owner{s: s, lock: lock, records: map[string][]byte{},
		dirty: map[string]bool{}, merged: map[string]bool{}}
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
		err = flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
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
	if err != nil { // ENOLCK, ENOSYS, EOPNOTSUPP: the file system has none
		f.Close()
		return nil, &Error{Doing: doing, Path: path, Kind: errNetwork, Err: fmt.Errorf("no lock is to be had: %w", err),
			Advice: localAdvice}
	}
	// For people, and only that: no error when the disk is full.
	if f.Truncate(0) == nil {
		fmt.Fprintf(f, "process %d since %s", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	}
	return f, nil
}

// open reads what was published last: the database, or the snapshot where that is newer or the database
// can't be used. A damaged snapshot is kept under another name.
func (o *Owner) open(ctx context.Context) error {
	removeTemps(o.s.dir, 0) // only owners write in this folder itself
	path := filepath.Join(o.s.dir, snapName)
	found, err := surveySnapshot(path, nil)
	damaged := errors.Is(err, errCorrupt)
	if err != nil && !damaged && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	records, id, tx, dbErr := o.s.readDatabase()
	if dbErr != nil {
		return dbErr
	}
	o.inStep = records != nil && (err != nil || id == found.ID && tx >= found.Tx)
	if o.inStep {
		o.records, o.id, o.tx = records, id, tx
	} else if found != nil {
		o.id, o.tx = found.ID, found.Tx
		_, unread := surveySnapshot(path, func(bucket, key string, stamp int64, raw []byte) error {
			name := where(bucket, key)
			o.records[name] = seal(name, stamp, raw)
			return ctx.Err()
		})
		if unread != nil && !errors.Is(unread, errCorrupt) {
			return unread
		}
	}
	if damaged {
		// No colons: such a name can be copied to any file system.
		kept := path + brokenMark + time.Now().UTC().Format("20060102T150405.000000000Z")
		if os.Link(path, kept) != nil { // what stands there may be a folder
			if err := os.Rename(path, kept); err != nil {
				return failed("keep the damaged snapshot", kept, err)
			}
		}
		o.note = append(o.note, fmt.Sprintf("%v; kept as %s, %d records could be read", err, filepath.Base(kept),
			len(o.records)))
	}
	if o.id == "" {
		id := make([]byte, 16)
		rand.Read(id)
		o.id = hex.EncodeToString(id)
	}
	o.changed = err != nil || o.tx > found.Tx || !o.s.recipesAre(found.Recipes)
	return nil
}

// Notes says what Own could not read, for the user.
func (o *Owner) Notes() []string { return o.note }

// do does something with the records. Its errors say what was being done.
func (o *Owner) do(doing string, fn func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := errors.New("the ownership has ended")
	if o.lock != nil {
		err = fn()
	}
	return failed(doing, filepath.Join(o.s.dir, snapName), err)
}

// put replaces a record.
func (o *Owner) put(bucket, key string, stamp int64, raw []byte) {
	name := where(bucket, key)
	o.records[name], o.dirty[name], o.changed = seal(name, stamp, raw), true, true
}

// Put writes a record; it is there for good when Publish has returned. It replaces what was there,
// whatever the stamps say.
func (o *Owner) Put(bucket, key string, record any) error {
	return o.PutAll(bucket, map[string]any{key: record})
}

// PutAll writes records of one bucket, by their keys, all of them or none.
func (o *Owner) PutAll(bucket string, records map[string]any) error {
	return o.do("write records", func() error {
		raw := map[string][]byte{}
		for key, record := range records {
			b, err := encodeRecord(bucket, key, record)
			if err != nil {
				return err
			}
			raw[key] = b
		}
		for key, b := range raw {
			o.put(bucket, key, time.Now().UnixNano(), b)
		}
		return nil
	})
}

// Delete removes those records of a bucket that there are.
func (o *Owner) Delete(bucket string, keys ...string) error {
	return o.do("remove a record", func() error {
		for _, key := range keys {
			if name := where(bucket, key); o.records[name] != nil {
				delete(o.records, name)
				o.dirty[name], o.changed = true, true
			}
		}
		return nil
	})
}

// Get reads a record as it is now, published or not.
func (o *Owner) Get(bucket, key string, into any) (ok bool, err error) {
	err = o.do(readDoing, func() error {
		var raw []byte
		if raw, _, ok = o.record(bucket, key); !ok || into == nil {
			return nil
		}
		return json.Unmarshal(raw, into)
	})
	return ok && err == nil, err
}

// record gives a record's content and stamp.
func (o *Owner) record(bucket, key string) (raw []byte, stamp int64, ok bool) {
	raw, stamp, err := unseal(where(bucket, key), o.records[where(bucket, key)])
	return raw, stamp, err == nil
}

// newer decides which of two values of one record stands: the one with the later stamp, except that one
// from the future (the clock went back since) loses against any that is not. Of two with one stamp the
// bytes decide, so that the order of merging does not.
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

// Merge takes the records of the spool and gives the number of files merged. Publish removes the
// files: a merge whose process is killed before is done again, with the same result. Files that are
// no records are set aside (.bad), those of a newer gnvcc stay; the rest is merged in any case.
func (o *Owner) Merge() (merged int, err error) {
	err = o.do("merge the spool", func() error {
		dir := filepath.Join(o.s.dir, spoolName)
		removeTemps(dir, tempAge)
		names, err := o.s.pending()
		if err != nil {
			return failed("merge the spool", dir, err)
		}
		var unread error
		for _, name := range names {
			if o.merged[name] {
				continue
			}
			r, err := o.s.readSpooled(name)
			var sys *fs.PathError
			switch {
			case err == nil:
				o.merge(r)
				o.merged[name] = true
				merged++
			case errors.Is(err, errNewer), errors.Is(err, fs.ErrNotExist):
			case errors.As(err, &sys):
				unread = failed("merge the spool", filepath.Join(dir, name), err)
			default:
				os.Rename(filepath.Join(dir, name), filepath.Join(dir, name+badExt))
			}
		}
		return unread
	})
	return merged, err
}

// merge takes one record of the spool.
func (o *Owner) merge(r *spooled) {
	if old, stamp, ok := o.record(r.Bucket, r.Key); !ok || newer(r.Stamp, r.Record, stamp, old) {
		o.put(r.Bucket, r.Key, r.Stamp, r.Record)
	}
}

// Publish makes the records as they are now the builds' snapshot: checked, written to a new file, synced,
// renamed. A build sees the old one or the new one. When nothing changed since the last one it does
// nothing.
func (o *Owner) Publish() error {
	const doing = "publish the decisions"
	return o.do(doing, func() error {
		path := filepath.Join(o.s.dir, snapName)
		if _, err := os.Stat(path); err == nil && !o.changed {
			o.forgetSpool()
			return nil
		}
		var list recipeList
		for name, sealed := range o.records {
			bucket, key, _ := strings.Cut(name, "\x00")
			raw, _, err := unseal(name, sealed)
			if err != nil {
				return corrupt(doing, path, "bucket %q, record %q: %w", bucket, key, err)
			}
			list.add(bucket, key, raw)
		}
		recipes := list.text()
		b, err := encodeFlat(o.records, flatHeader{ID: o.id, Tx: o.tx + 1, Recipes: Hash([]byte(recipes))})
		if err != nil {
			return err
		}
		if err := o.writeDatabase(o.tx + 1); err != nil {
			return err
		}
		if err := writeFile(o.s.dir, snapName, b, true); err != nil {
			return err
		}
		// Builds have the new recipes from here on. The caches' file follows: in between a cache may keep
		// a new object under the old recipes, which no build asks for any more; the other way round it
		// would serve old objects for the new ones.
		if err := o.s.putRecipes(recipes); err != nil {
			return err
		}
		if err := syncDir(o.s.dir); err != nil {
			return err
		}
		o.changed = false
		o.tx++
		o.forgetSpool()
		return nil
	})
}

// forgetSpool removes the spool files whose records are published.
func (o *Owner) forgetSpool() {
	for name := range o.merged {
		os.Remove(filepath.Join(o.s.dir, spoolName, name))
	}
	clear(o.merged)
}

// Close ends the ownership. What was put and not published is gone then; what was merged and not
// published is still in the spool.
func (o *Owner) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lock != nil {
		o.lock.Truncate(0)
		// A child that this process has forked and that has not called exec yet has the file, too: closing
		// it here would leave the lock with the child.
		syscall.Flock(int(o.lock.Fd()), syscall.LOCK_UN)
		o.lock.Close()
		o.lock = nil
	}
	return nil
}

// flock is a variable for the tests.
var flock = syscall.Flock

// Readable reports whether an error of Own leaves a store that can be read: another is the owner just now, the
// store can't be written, or its file system has no locks that could be trusted.
func Readable(err error) bool {
	return errors.Is(err, ErrOwned) || errors.Is(err, errReadOnly) || errors.Is(err, errNetwork)
}

// PublishSpooled merges and publishes what is spooled. Where that can't be done just now, what was published
// counts.
func (s *Store) PublishSpooled(ctx context.Context) error {
	owner, err := s.Own(ctx)
	if Readable(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer owner.Close()
	if _, err := owner.Merge(); err != nil {
		return err
	}
	return owner.Publish()
}
