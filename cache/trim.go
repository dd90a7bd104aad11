package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Keeping objects and memos below a size.

const (
	// trimEvery: as Go's build cache does (trimInterval there); looking at all files takes about a
	// second per 100,000.
	trimEvery = 24 * time.Hour
	// trimSpare: a file used less than this ago may be in use by a build that goes on. Times of use
	// are up to refresh too old.
	trimSpare = 2 * refresh
)

// Cap is how large objects and memos may become, bytes: GNVCC_MAXSIZE, a number with K, M, G or T
// (powers of 1024) behind it if need be, 0 for no limit; else 5 GiB, as ccache's default. The error
// says what is wrong with the variable; the default goes with it.
func Cap() (int64, error) {
	const usual = 5 << 30
	text := os.Getenv("GNVCC_MAXSIZE")
	if text == "" {
		return usual, nil
	}
	digits := strings.TrimRight(strings.ToUpper(text), "IB")
	shift := 0
	if i := strings.IndexAny(digits, "KMGT"); i >= 0 && i == len(digits)-1 {
		shift = 10 * (1 + strings.IndexByte("KMGT", digits[i]))
		digits = digits[:i]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return usual, fmt.Errorf(
			"GNVCC_MAXSIZE is %q: give it a number with K, M, G or T, such as 5G, or 0 for no limit", text)
	}
	if n == 0 {
		return math.MaxInt64, nil
	}
	return n << shift, nil
}

// Sizes are what objects and memos take, bytes.
type Sizes struct {
	Objects, Memos         int64
	ObjectCount, MemoCount int
	Cap                    int64
}

// Sizes adds the store's files up, those that can be looked at.
func (s *Store) Sizes() (out Sizes, err error) {
	out.Cap, err = Cap()
	add := func(sub string, count *int, size *int64) {
		dir := filepath.Join(s.dir, sub)
		err = errors.Join(err, failed("read the store", dir, eachFile(dir, func(_ string, info fs.FileInfo) {
			*count++
			*size += info.Size()
		})))
	}
	add(objectName, &out.ObjectCount, &out.Objects)
	add(memoName, &out.MemoCount, &out.Memos)
	return out, err
}

// eachFile calls fn for the regular files below dir that can be looked at. The error is the first
// of those that were met; the rest is walked. What goes meanwhile is no error.
func eachFile(dir string, fn func(path string, info fs.FileInfo)) (first error) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) && first == nil {
				first = err
			}
			return nil
		}
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			fn(path, info)
		}
		return nil
	})
	return first
}

type agedFile struct {
	path string
	size int64
	used time.Time
}

// Trim removes the objects and memos that were not used for longest until the rest has at most
// maxBytes; what was used in the last hours stays even then. It does so once a day at most and
// returns at once in between. Any process may call it.
func (s *Store) Trim(maxBytes int64) error {
	stamp := filepath.Join(s.dir, trimName)
	if info, err := os.Stat(stamp); err == nil {
		// A stamp in the future: the clock went back, trim.
		if age := time.Since(info.ModTime()); age >= 0 && age < trimEvery {
			return nil
		}
	}
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := s.Writable(); err != nil {
		return err
	}
	// The stamp first: of many builds that start now, one trims.
	f, err := os.OpenFile(stamp, os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW, fileMode)
	if err != nil {
		return failed("trim the store", stamp, err)
	}
	f.Close()
	now := time.Now()
	os.Chtimes(stamp, now, now)
	return s.trim(maxBytes, now)
}

func (s *Store) trim(maxBytes int64, now time.Time) error {
	var files []agedFile
	var total int64
	var first error
	for _, sub := range []string{objectName, memoName} {
		err := eachFile(filepath.Join(s.dir, sub), func(path string, info fs.FileInfo) {
			if strings.HasPrefix(info.Name(), tempMark) {
				if now.Sub(info.ModTime()) > tempAge {
					os.Remove(path)
				}
				return
			}
			if info.ModTime().After(now) { // the clock went back: from now on it ages
				os.Chtimes(path, now, now)
			}
			total += info.Size()
			files = append(files, agedFile{path, info.Size(), info.ModTime()})
		})
		if err != nil && first == nil {
			first = failed("trim the store", filepath.Join(s.dir, sub), err)
		}
	}
	s.trimSpool(now)
	slices.SortFunc(files, func(a, b agedFile) int { return a.used.Compare(b.used) })
	for _, f := range files {
		if total <= maxBytes {
			break
		}
		if now.Sub(f.used) < trimSpare {
			break // and so are the rest
		}
		if err := os.Remove(f.path); err == nil || errors.Is(err, fs.ErrNotExist) {
			total -= f.size
		} else if first == nil {
			first = failed("trim the store", f.path, err)
		}
	}
	return first
}

// trimSpool removes old spool files that were set aside, and what killed spoolers left.
func (s *Store) trimSpool(now time.Time) {
	dir := filepath.Join(s.dir, spoolName)
	removeTemps(dir, tempAge)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		// one of ours
		if name, bad := strings.CutSuffix(e.Name(), spoolExt+badExt); bad && IsHash(name) {
			if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > badAge {
				os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
}
