package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Finding the store's folder and making sure that it is ours.

// schema is the version of everything in the store. Fields of records are added without a new one.
const schema = 1

// The buckets of records, and what their keys are. Others may be added; their names are
// checked by validBucket.
const (
	Decisions    = "decision"    // by kernel identity and more (Decision.Key)
	Assemblies   = "assembly"    // by cubin hash
	Translations = "translation" // by PTX hash
	Links        = "link"        // by cubin hash
	Pins         = "pin"         // a Decision that the user made himself, by kernel identity
	// a Decision that was predicted from machine code and was not run, by kernel identity
	Predictions = "prediction"
	Bans        = "ban"  // by a kernel's name without what depends on the file, or by its identity
	Locks       = "lock" // a LockFile, by the hash of the folder whose builds go by it
)

// maxRecord is the largest record that is taken, bytes of JSON: one with 10,000 kernels has about 4
// MB.
const maxRecord = 16 << 20

// Names in the store's folder.
const (
	snapName    = "decisions.snapshot"
	dbName      = "records.db" // not decisions.db: earlier versions wrote other records there
	sealName    = "records.db.seal"
	recipesName = "recipes"
	lockName    = "owner.lock"
	brokenMark  = ".broken-"
	spoolName   = "spool"
	objectName  = "objects"
	memoName    = "memo"
	trimName    = "trimmed"
)

// A Store is one folder. It holds nothing open and may be used from many goroutines.
type Store struct {
	dir     string
	prepare sync.Once
	ready   error // what prepare found
}

// Open gives the store in dir. The folder is made at the first write; one that is there must be the
// user's own and not writable for others, since whoever writes there decides what gets compiled.
// Open takes no lock.
func Open(dir string) (*Store, error) {
	if !filepath.IsAbs(dir) {
		return nil, &Error{Doing: "open the store", Path: dir, Kind: errUnsafe,
			Err: errors.New("not an absolute path")}
	}
	s := &Store{dir: dir}
	if err := s.ours(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s, nil
}

// IsStore reports whether a folder looks like somebody's store.
func IsStore(dir string) bool {
	for _, name := range []string{objectName, memoName} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// Path is the store's folder.
func (s *Store) Path() string { return s.dir }

// ours checks owner and mode of the folder.
func (s *Store) ours() error {
	const doing = "open the store"
	info, err := os.Stat(s.dir)
	if err != nil {
		return failed(doing, s.dir, err)
	}
	unsafe := func(advice, format string, args ...any) error {
		return &Error{Doing: doing, Path: s.dir, Kind: errUnsafe, Err: fmt.Errorf(format, args...),
			Advice: advice}
	}
	if !info.IsDir() {
		return unsafe("set GNVCC_STORE to a folder", "not a folder")
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return unsafe("set GNVCC_STORE to a folder of your own", "belongs to user %d, you are user %d",
			st.Uid, os.Geteuid())
	}
	if mode := info.Mode().Perm(); mode&0o002 != 0 {
		return unsafe("chmod o-w it, or set GNVCC_STORE to another folder",
			"everybody may write there (mode %04o)", mode)
	} else if mode&0o020 != 0 {
		return unsafe("chmod g-w it, or set GNVCC_STORE to another folder",
			"its group may write there (mode %04o)", mode)
	}
	return nil
}

// Writable makes the folder where it is missing, and says whether records may be written there. It
// looks once.
func (s *Store) Writable() error {
	s.prepare.Do(func() {
		if err := os.MkdirAll(s.dir, dirMode); err != nil {
			s.ready = failed("make the store's folder", s.dir, err)
			return
		}
		if s.ready = s.ours(); s.ready != nil {
			return
		}
		if kind := NetworkFS(s.dir); kind != "" {
			s.ready = &Error{Doing: "write to the store", Path: s.dir, Kind: errNetwork,
				Err:    fmt.Errorf("it is on a network file system (%s), where locks are not reliable", kind),
				Advice: localAdvice}
		}
	})
	return s.ready
}

// Hash is the name of b in the store: sha256 in lower-case hexadecimal.
func Hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// IsHash reports whether a text is a name that Hash gives, and so may be that of a kernel.
func IsHash(h string) bool {
	return len(h) == 2*sha256.Size && strings.Trim(h, "0123456789abcdef") == ""
}

// validName is the rule for what becomes a part of a path: kinds and keys of memos.
func validName(s string) bool {
	if len(s) < 2 || len(s) > 128 {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// validBucket and validKey are the rules for records. Keys never become a part of a path.
func validBucket(s string) bool { return validName(s) }
func validKey(s string) bool    { return len(s) > 0 && len(s) <= 512 }

func checkRecord(bucket, key string) error {
	if !validBucket(bucket) {
		return fmt.Errorf("%q is no bucket's name", bucket)
	}
	if !validKey(key) {
		return fmt.Errorf("a key of %d bytes: it takes 1 to 512", len(key))
	}
	return nil
}
