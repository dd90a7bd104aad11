package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Objects, files by their content, and memos, small files by a key.

// The largest files that are read, bytes: preprocessed sources and fat archives have up to some
// hundred MB, what a tool printed at most 1 MB. A file that claims more is not ours, and reading it
// could end the build for want of memory.
const (
	maxObject = 1 << 30
	maxMemo   = 64 << 20
)

// refresh: a file's time of modification says when it was last used. It is set anew when it is
// older than this, as in Go's build cache (cmd/go/internal/cache, mtimeInterval), so that a hit is
// not a write.
const refresh = time.Hour

// used notes that a file is in use, for Trim.
func used(path string, info fs.FileInfo) {
	if now := time.Now(); now.Sub(info.ModTime()) > refresh || info.ModTime().After(now) {
		os.Chtimes(path, now, now) // best effort: a read-only store is not trimmed
	}
}

// ObjectPath is where the object of that hash lies or would lie if it is not compressed, "" for
// what is no hash. To open it take ObjectFile.
func (s *Store) ObjectPath(hash string) string {
	if !IsHash(hash) {
		return ""
	}
	return filepath.Join(s.dir, objectName, hash[:2], hash)
}

// HasObject says whether there is such an object, and notes that it is used.
func (s *Store) HasObject(hash string) bool {
	path, info, err := s.find(hash)
	if err != nil {
		return false
	}
	used(path, info)
	return true
}

// PutObject keeps b and gives its hash. One that is there is not written again.
func (s *Store) PutObject(b []byte) (hash string, err error) {
	hash = Hash(b)
	path := s.ObjectPath(hash)
	// What is packed is taken for whole: only a read shows it, and a read that fails removes it.
	if found, info, err := s.find(hash); err == nil &&
		(found != path || info.Size() == int64(len(b))) {
		used(found, info)
		return hash, nil
	}
	if len(b) > maxObject {
		return "", &Error{Doing: "keep an object", Path: path,
			Err: fmt.Errorf("%d bytes: at most %d are taken", len(b), maxObject)}
	}
	if err := s.Writable(); err != nil {
		return "", err
	}
	name := hash
	if packed := pack(b); packed != nil {
		os.Remove(path) // a damaged one: it would be read first
		name, b = hash+packedExt, packed
	}
	return hash, failed("keep an object", path, writeFile(filepath.Dir(path), name, b, false))
}

// Object gives an object's content, compared with its hash. ErrNone says that there is none (any
// more); a damaged one is removed, so that it can be put again.
func (s *Store) Object(hash string) ([]byte, error) {
	const doing = "read an object"
	unpacked := s.ObjectPath(hash)
	if unpacked == "" {
		return nil, corrupt(doing, s.dir, "%q is no hash", hash)
	}
	var first error
	for _, ext := range objectExts {
		path := unpacked + ext
		b, err := readLimited(path, maxObject)
		damaged := errors.Is(err, errTooLarge) // we write none
		if err == nil {
			b, err = unpack(path, b)
			damaged = err != nil
		}
		if err == nil && Hash(b) != hash {
			err = fmt.Errorf("the content (%d bytes) has another hash", len(b))
			damaged = true
		}
		if damaged { // it must not stand in the way of what it should be
			os.Remove(path)
			err = corrupt(doing, path, "%w; removed", err)
		}
		if err == nil {
			if info, err := os.Stat(path); err == nil {
				used(path, info)
			}
			return b, nil
		}
		if first == nil || errors.Is(first, fs.ErrNotExist) {
			first = err
		}
	}
	if errors.Is(first, fs.ErrNotExist) {
		return nil, &Error{Doing: doing, Path: unpacked, Kind: ErrNone, Err: fs.ErrNotExist,
			Advice: "it was trimmed, or never kept: build again"}
	}
	return nil, failed(doing, unpacked, first)
}

func (s *Store) memoPath(kind, key string) string {
	if !validName(kind) || !validName(key) {
		return ""
	}
	return filepath.Join(s.dir, memoName, kind, key[:2], key)
}

// PutMemo keeps b under a key, for whoever asks Memo next; what was there is replaced. Kinds and
// keys have 2 to 128 letters, digits, - and _.
func (s *Store) PutMemo(kind, key string, b []byte) error {
	const doing = "keep a memo"
	path := s.memoPath(kind, key)
	if path == "" {
		return &Error{Doing: doing, Path: s.dir, Err: errors.New("kind or key is no name: " + kind + "/" +
			key)}
	}
	if len(b) > maxMemo-64 { // with its seal
		return &Error{Doing: doing, Path: path, Err: fmt.Errorf("%d bytes: at most %d are taken", len(b),
			maxMemo-64)}
	}
	if err := s.Writable(); err != nil {
		return err
	}
	return failed(doing, path, writeFile(filepath.Dir(path), key, seal(where(kind, key),
		time.Now().UnixNano(), b), false))
}

// Memo gives what PutMemo kept. Damaged, unreadable and absent are alike: false.
func (s *Store) Memo(kind, key string) ([]byte, bool) {
	path := s.memoPath(kind, key)
	if path == "" {
		return nil, false
	}
	b, err := readLimited(path, maxMemo)
	if err != nil {
		return nil, false
	}
	body, _, err := unseal(where(kind, key), b)
	if err != nil {
		return nil, false
	}
	if info, err := os.Stat(path); err == nil {
		used(path, info)
	}
	return body, true
}
