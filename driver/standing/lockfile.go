package standing

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"gnvcc/cache"
	"gnvcc/cache/lock"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// A lock file in a build. It is sorted by name, for people and git, and looked up by identity;
// 10,000 lines take some 30 ms to read. So its decisions are kept as a snapshot of the store's own
// form (cache.Derive), under the hash of the file's content, and a memo says which content a state
// of the file (device, inode, size, times) has: a build that finds both reads a stat, a memo and a
// few places of the index. Whatever of these is missing is made again. A state counts only where it
// was old when the content was read: a file that was written twice within what a file system's
// clock tells apart looks the same.

// A lockState is the memo of a file's content.
type lockState struct {
	Content string // hash
	Read    int64  // when, nanoseconds since 1970
}

const memoLock cache.Memos[lockState] = "lock"

// settled is how old a file must be when it is read, for its state to stand for its content.
// Network file systems and FAT tell 1 or 2 seconds apart.
const settled = 3 * time.Second

// lockForm goes into an index' name: it changes with what is made of a lock file.
const lockForm = "lock 1"

// openLock gives a lock file's decisions.
func openLock(store *cache.Store, path string) (*cache.Snapshot, error) {
	sn, err := openLockFile(store, path)
	if err != nil {
		return nil, fmt.Errorf("read the lock file %s: %w", path, err)
	}
	return sn, nil
}

func openLockFile(store *cache.Store, path string) (*cache.Snapshot, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, bareError(err)
	}
	key := cache.HashOf(lockForm, fileState(info))
	if state, ok := memoLock.Get(store, key); ok {
		if sn, ok := store.Derived(indexName(state.Content)); ok {
			return sn, nil
		}
	}
	text, info, err := ReadLock(path)
	if err != nil {
		return nil, err
	}
	content, now := cache.Hash(text), time.Now()
	if st := systemStat(info); now.UnixNano()-max(st.Mtim.Nano(), st.Ctim.Nano()) > int64(settled) {
		// Read again by the next build if it can't be kept.
		memoLock.Put(store, cache.HashOf(lockForm, fileState(info)), lockState{content, now.UnixNano()})
	}
	if sn, ok := store.Derived(indexName(content)); ok {
		return sn, nil
	}
	lines, err := ParseLock(text)
	if err != nil {
		return nil, err
	}
	records := make([]cache.Record, 0, len(lines))
	for _, l := range lines {
		records = append(records, cache.Record{Bucket: cache.Decisions, Key: l.Key(),
			Value: l.Decision()})
	}
	return store.Derive(indexName(content), records)
}

func indexName(content string) string { return cache.HashOf(lockForm, content)[:32] + "-lock" }

// ReadLock reads a lock file's text. It may be replaced meanwhile, as by git: what is read is one
// state of it.
func ReadLock(path string) ([]byte, os.FileInfo, error) {
	for range 5 {
		text, info, again, err := readLockOnce(path)
		if err != nil || !again {
			return text, info, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, nil, errors.New("it changes again and again while it is read")
}

func readLockOnce(path string) (text []byte, info os.FileInfo, again bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would have a build wait
	if err != nil {
		return nil, nil, false, bareError(err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, nil, false, bareError(err)
	}
	if info.IsDir() {
		return nil, nil, false, errors.New("it is a directory")
	}
	if !info.Mode().IsRegular() {
		return nil, nil, false, errors.New("it is not a regular file")
	}
	const most = 64 << 20 // as package lock takes
	if text, err = io.ReadAll(io.LimitReader(f, most+1)); err != nil {
		return nil, nil, false, bareError(err)
	}
	now, err := f.Stat()
	if err != nil {
		return nil, nil, false, bareError(err)
	}
	return text, info, fileState(now) != fileState(info) || int64(len(text)) != info.Size() &&
		len(text) <= most, nil
}

// bareError leaves out the path, which stands in front.
func bareError(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func systemStat(info os.FileInfo) *syscall.Stat_t {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st
	}
	return new(syscall.Stat_t)
}

// ParseLock reads a lock file, recipes included. A recipe of a lever that this gnvcc does not know
// stays: its kernel alone is nvcc's own, with the reason.
func ParseLock(text []byte) ([]lock.Line, error) {
	return lock.Parse(text, func(l lock.Line) error {
		r, err := recipe.Parse(l.Recipe)
		if err != nil {
			return fmt.Errorf("recipe=%q: %w", l.Recipe, err)
		}
		if rewrite.Check(r) != nil {
			return nil // of another gnvcc; no build takes it
		}
		level, err := rewrite.ParseExactness(l.Exact)
		if exact := rewrite.ExactnessOf(r); err != nil || exact != rewrite.Approximate && level < exact {
			return fmt.Errorf("exact=%s: the recipe %q is %s at best", l.Exact, l.Recipe, exact)
		}
		if rewrite.ExactnessOf(r) == rewrite.Approximate {
			return fmt.Errorf(
				"recipe=%q approximates: approximate recipes are per user, and never in a lock file", l.Recipe)
		}
		return nil
	})
}
