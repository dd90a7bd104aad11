package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Cleaning: what can be made again is removed at the user's word. Decisions, pins and bans are not
// the caches' business, and stay. A build that goes on meanwhile misses what is gone, and works on.

// A Removed is what was removed.
type Removed struct {
	Files int
	Bytes int64
}

// ClearMemos removes the memos of some kinds, without one all.
func (s *Store) ClearMemos(kinds ...string) (all Removed, err error) {
	folders := []string{memoName, "derived"} // an earlier version had lock files there
	if len(kinds) > 0 {
		folders = nil
	}
	for _, kind := range kinds {
		if validName(kind) {
			folders = append(folders, filepath.Join(memoName, kind))
		}
	}
	for _, folder := range folders {
		r, err := s.clear(folder, nil)
		all.Files += r.Files
		all.Bytes += r.Bytes
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// RemoveMemos removes the memos of a kind that which chooses by their content, and gives how many
// there were. With dry set they stay. Damaged ones are stepped over.
func (s *Store) RemoveMemos(kind string, which func(body []byte) bool,
	dry bool) (n int, first error) {
	dir := filepath.Join(s.dir, memoName, kind)
	if !validName(kind) {
		return 0, nil
	}
	eachFile(dir, func(path string, info fs.FileInfo) {
		if !validName(info.Name()) {
			return
		}
		b, err := readLimited(path, maxMemo)
		if err != nil {
			return
		}
		body, _, err := unseal(where(kind, info.Name()), b)
		if err != nil || !which(body) {
			return
		}
		n++
		if dry {
			return
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) && first == nil {
			first = err
		}
	})
	return n, failed("remove memos", dir, first)
}

// ClearObjects removes the objects but those that keep names.
func (s *Store) ClearObjects(keep map[string]bool) (Removed, error) {
	return s.clear(objectName, keep)
}

// clear removes the files below a folder of the store, save those whose names begin with a hash
// that is to be kept.
func (s *Store) clear(sub string, keep map[string]bool) (r Removed, first error) {
	dir := filepath.Join(s.dir, sub)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err != nil && !errors.Is(err, fs.ErrNotExist) && first == nil {
				first = err
			}
			return nil
		}
		hash, _, _ := strings.Cut(d.Name(), ".")
		if len(hash) >= hashLength && keep[hash[:hashLength]] {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // removed meanwhile
		}
		if err := os.Remove(path); err == nil {
			r.Files++
			r.Bytes += info.Size()
		} else if !errors.Is(err, fs.ErrNotExist) && first == nil {
			first = err
		}
		return nil
	})
	if first == nil && !errors.Is(err, fs.ErrNotExist) {
		first = err
	}
	return r, failed("clean the store", dir, first)
}

const hashLength = 64 // hexadecimal digits
