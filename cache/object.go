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

// The largest files that are read, bytes: preprocessed sources and fat archives have up to some hundred MB, what a tool printed at
// most 1 MB. A file that claims more is not ours, and reading it could end the build for want of memory.
const (
	maxObject = 1 << 30
	maxMemo   = 64 << 20
)

// refresh: a file's time of modification says when it was last used. It is set anew when it is older than this, as in Go's
// build cache (cmd/go/internal/cache, mtimeInterval), so that a hit is not a write.
const refresh = time.Hour

// used notes that a file is in use, for Trim.
func used(path string, info fs.FileInfo) {
	if now := time.Now(); now.Sub(info.ModTime()) > refresh || info.ModTime().After(now) {
		os.Chtimes(path, now, now) // best effort: on a read-only store nobody trims
	}
}

// ObjectPath is where the object of that hash lies or would lie, "" for what is no hash. The content is not looked at.
func (s *Store) ObjectPath(hash string) string {
	if !validHash(hash) {
		return ""
	}
	return filepath.Join(s.dir, objectName, hash[:2], hash)
}

// HasObject says whether there is such an object, and notes that it is used.
func (s *Store) HasObject(hash string) bool {
	path := s.ObjectPath(hash)
	info, err := os.Lstat(path)
	if path == "" || err != nil || !info.Mode().IsRegular() {
		return false
	}
	used(path, info)
	return true
}

// PutObject keeps b and gives its hash. One that is there is not written again.
func (s *Store) PutObject(b []byte) (hash string, err error) {
	hash = Hash(b)
	path := s.ObjectPath(hash)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(b)) {
		used(path, info)
		return hash, nil
	}
	if len(b) > maxObject {
		return "", &Error{Doing: "keep an object", Path: path, Err: fmt.Errorf("%d bytes: at most %d are taken", len(b), maxObject)}
	}
	if err := s.writable(); err != nil {
		return "", err
	}
	return hash, failed("keep an object", path, writeFile(filepath.Dir(path), hash, b, false))
}

// PutObjectFile keeps the content that the file at path has now.
func (s *Store) PutObjectFile(path string) (hash string, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", failed("keep a file as an object", path, err)
	}
	return s.PutObject(b)
}

// Object gives an object's content, compared with its hash. ErrNone says that there is none (any more); a damaged one is
// removed, so that it can be put again.
func (s *Store) Object(hash string) ([]byte, error) {
	const doing = "read an object"
	path := s.ObjectPath(hash)
	if path == "" {
		return nil, corrupt(doing, s.dir, "%q is no hash", hash)
	}
	b, err := readLimited(path, maxObject)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Doing: doing, Path: path, Kind: ErrNone, Err: fs.ErrNotExist, Advice: "it was trimmed, or never kept: build once more"}
	}
	if err != nil {
		return nil, failed(doing, path, err)
	}
	if Hash(b) != hash {
		os.Remove(path)
		return nil, corrupt(doing, path, "the content (%d bytes) has another hash; removed", len(b))
	}
	if info, err := os.Stat(path); err == nil {
		used(path, info)
	}
	return b, nil
}

func (s *Store) memoPath(kind, key string) string {
	if !validName(kind) || !validName(key) {
		return ""
	}
	return filepath.Join(s.dir, memoName, kind, key[:2], key)
}

// PutMemo keeps b under a key, for whoever asks Memo next; what was there is replaced. Kinds and keys have 2 to 128 letters,
// digits, - and _.
func (s *Store) PutMemo(kind, key string, b []byte) error {
	const doing = "keep a memo"
	path := s.memoPath(kind, key)
	if path == "" {
		return &Error{Doing: doing, Path: s.dir, Err: errors.New("kind or key is no name: " + kind + "/" + key)}
	}
	if len(b) > maxMemo-64 { // with its seal
		return &Error{Doing: doing, Path: path, Err: fmt.Errorf("%d bytes: at most %d are taken", len(b), maxMemo-64)}
	}
	if err := s.writable(); err != nil {
		return err
	}
	return failed(doing, path, writeFile(filepath.Dir(path), key, seal(where(kind, key), time.Now().UnixNano(), b), false))
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
