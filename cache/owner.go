package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// The owner: the one process that publishes.

// An Owner may be used from many goroutines. It has all records in memory (some 50 MB where builds
// have left 30,000), and what it changes there nobody sees before Publish.
type Owner struct {
	s    *Store
	note []string

	mu      sync.Mutex // for what follows
	lock    *os.File   // nil: closed
	id      string     // of this store's snapshots
	turn    uint64     // of the last one
	records map[string]kept
	merged  map[string]bool // names of spool files whose records are among these
	changed bool            // since the last publication, or something was wrong with that
}

// A kept is a record as it is to be published, with the time of writing.
type kept struct {
	stamp int64
	raw   []byte
}

// Own makes the caller the store's owner, or says ErrOwned at once when there is one. The lock goes
// with the process: an owner that is killed is no owner any more. A damaged snapshot is mended
// here; Notes says so. ctx ends the preparations, not the ownership.
func (s *Store) Own(ctx context.Context) (*Owner, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.writable(); err != nil {
		return nil, err
	}
	lock, err := s.takeLock()
	if err != nil {
		return nil, err
	}
	o := &Owner{s: s, lock: lock, records: map[string]kept{}, merged: map[string]bool{}}
	if err := o.open(); err != nil {
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

// Notes says what Own had to mend, for the user.
func (o *Owner) Notes() []string { return o.note }

// A stamped value is newer than another by its stamp, except that one from the future (the clock
// went back since) loses against any that is not. Of two with one stamp the bytes decide, so that
// the order of merging does not.
func (k kept) newer(old kept) bool {
	now := time.Now().UnixNano()
	if future := k.stamp > now; future != (old.stamp > now) {
		return !future
	}
	if k.stamp != old.stamp {
		return k.stamp > old.stamp
	}
	return string(k.raw) > string(old.raw)
}

// take keeps a record, unless a newer one is there.
func (o *Owner) take(bucket, key string, stamp int64, raw []byte) {
	name, now := where(bucket, key), kept{stamp, raw}
	if old, ok := o.records[name]; !ok || now.newer(old) {
		o.records[name], o.changed = now, true
	}
}

// closed is the error of an owner that was closed, for what was to be done.
func (o *Owner) closed(doing string) error {
	if o.lock == nil {
		return failed(doing, o.s.dir, fs.ErrClosed)
	}
	return nil
}

// Put keeps a record, for Publish. It replaces what was there, whatever the stamps say.
func (o *Owner) Put(bucket, key string, record any) error {
	return o.PutAll(bucket, map[string]any{key: record})
}

// PutAll keeps records of one bucket, by their keys, all of them or none.
func (o *Owner) PutAll(bucket string, records map[string]any) error {
	const doing = "keep a record"
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.closed(doing); err != nil {
		return err
	}
	raw := map[string][]byte{}
	for key, record := range records {
		b, err := encodeRecord(bucket, key, record)
		if err != nil {
			return failed(doing, o.s.dir, err)
		}
		raw[key] = b
	}
	for key, b := range raw {
		o.records[where(bucket, key)], o.changed = kept{time.Now().UnixNano(), b}, true
	}
	return nil
}

// Delete removes a record, if there is one, from the next publication on.
func (o *Owner) Delete(bucket, key string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.closed("remove a record"); err != nil {
		return err
	}
	if _, ok := o.records[where(bucket, key)]; ok {
		delete(o.records, where(bucket, key))
		o.changed = true
	}
	return nil
}

// Get reads a record as it is now, published or not.
func (o *Owner) Get(bucket, key string, into any) (ok bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.closed(readDoing); err != nil {
		return false, err
	}
	k, ok := o.records[where(bucket, key)]
	if !ok || into == nil {
		return ok, nil
	}
	if err := json.Unmarshal(k.raw, into); err != nil {
		return false, corrupt(readDoing, o.s.dir, "bucket %q, record %q: %w", bucket, key, err)
	}
	return true, nil
}

// Merge takes the records of the spool, and gives the number of files that it had not taken before.
// Publish removes these files when their records are on the disk, so that a merge that is killed is
// done again, with the same result. Files that are no records are set aside (.bad), those of a newer
// gnvcc stay; the rest is merged in any case.
func (o *Owner) Merge() (n int, unread error) {
	const doing = "merge the spool"
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.closed(doing); err != nil {
		return 0, err
	}
	dir := filepath.Join(o.s.dir, spoolName)
	removeTemps(dir, tempAge)
	names, err := o.s.pending()
	if err != nil {
		return 0, failed(doing, dir, err)
	}
	for _, name := range names {
		if o.merged[name] {
			continue
		}
		r, err := o.s.readSpooled(name)
		var sys *fs.PathError
		switch {
		case err == nil:
			o.take(r.Bucket, r.Key, r.Stamp, r.Record)
			o.merged[name] = true
			n++
		case errors.Is(err, errNewer), errors.Is(err, fs.ErrNotExist):
		case errors.As(err, &sys):
			unread = failed(doing, filepath.Join(dir, name), err)
		default:
			os.Rename(filepath.Join(dir, name), filepath.Join(dir, name+badExt))
		}
	}
	return n, unread
}

// Close ends the ownership. What was put and not published is gone; what was merged and not
// published is in the spool as before.
func (o *Owner) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lock != nil {
		o.lock.Truncate(0)
		o.lock.Close()
		o.lock = nil
	}
	return nil
}
