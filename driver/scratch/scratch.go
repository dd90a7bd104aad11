package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gnvcc/cache"
)

// Scratch folders. Whoever makes one removes it, but kill -9 leaves no time for that. So the folder
// itself is locked (flock) as long as its owner lives, and the kernel takes the lock away with the
// process. Whoever makes a folder next removes those that no process holds.
//
// Removed is only what has our name, belongs to this user alone (mode 0700), is no link, and was
// made on this machine: a lock may not be seen from another one that shares the file system. Where
// a file system has no locks, a folder gets a name that is never looked for.

const (
	heldMark  = "gnvcc-held-" // a locked folder; the machine's mark and a random part follow
	plainMark = "gnvcc-"      // one that can't be locked
)

// sweepAge is how old a folder has to be before it is looked at: between its making and its locking
// there are some microseconds.
const sweepAge = time.Minute

// maxSwept bounds how many names of the temporary folder one sweep reads; some 10 ms.
const maxSwept = 20000

// A Folder is a folder for files that are not needed later.
type Folder struct {
	Path string
	hold *os.File // has the lock; nil where there is none
}

// New makes a folder in TMPDIR, and removes those of processes that were killed.
func New() (*Folder, error) { return NewIn(os.TempDir()) }

// NewIn is New in another folder.
func NewIn(in string) (*Folder, error) {
	Sweep(in)
	return Unswept(in)
}

// Unswept is NewIn for those who can't wait for the sweep: it reads all names in the folder.
func Unswept(in string) (*Folder, error) {
	dir, err := os.MkdirTemp(in, heldMark+machineMark()+"-")
	if err != nil {
		return nil, err
	}
	s := &Folder{Path: dir}
	if s.hold, err = os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW,
		0); err == nil {
		err = syscall.Flock(int(s.hold.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		s.release()
		os.Remove(dir)
		if s.Path, err = os.MkdirTemp(in, plainMark); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Remove removes the folder with all that is in it. It may be called twice.
func (s *Folder) Remove() {
	if s == nil || s.Path == "" {
		return
	}
	os.RemoveAll(s.Path)
	s.release()
	s.Path = ""
}

func (s *Folder) release() {
	if s.hold != nil {
		s.hold.Close()
		s.hold = nil
	}
}

// machineMark is this machine's mark among those that share a file system, 8 characters.
func machineMark() string {
	id, _ := os.ReadFile("/etc/machine-id")
	host, _ := os.Hostname()
	return cache.Hash([]byte(string(id) + "\x00" + host))[:8]
}

// Sweep removes the scratch folders in dir whose owners are gone, and gives their number. The error
// is that of the first that could not be removed.
func Sweep(dir string) (int, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	list, err := root.Open(".")
	if err != nil {
		return 0, err
	}
	defer list.Close()
	names, _ := list.Readdirnames(maxSwept)
	mark := heldMark + machineMark() + "-"
	n := 0
	var errs []error
	for _, name := range names {
		if !strings.HasPrefix(name, mark) {
			continue
		}
		gone, err := sweepOne(root, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", filepath.Join(dir, name), err))
		} else if gone {
			n++
		}
	}
	return n, errors.Join(errs...)
}

func sweepOne(root *os.Root, name string) (bool, error) {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return false, nil
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return false, nil
	}
	if age := time.Since(info.ModTime()); age < sweepAge { // a clock that went back: it waits
		return false, nil
	}
	f, err := root.Open(name)
	if err != nil {
		return false, nil
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return false, nil
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return false, nil // its owner lives
	}
	return true, root.RemoveAll(name)
}
