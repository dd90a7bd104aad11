package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Stores of others may lie on a network's file system, and that may hang: every call of the system
// on it then waits for a server that does not answer. No build waits with it. What is asked of such
// a store has a time limit; one that has passed it is left alone for a while, by this process and
// by those after it, who find a mark in one's own store. The thread that waits ends with the
// process (waits for NFS can be killed; a FUSE server that has taken a request and never answers it
// can keep a process from its end, which nothing in this process can help).

const (
	// hungAfter is what one call may take. Measured on NFS over a network: some milliseconds.
	hungAfter = 2 * time.Second
	// hungFor is how long it is left alone: a build of some minutes waits a few times.
	hungFor  = time.Minute
	hungName = "hung"
)

// errHung says that a file system does not answer.
var errHung = errors.New("its file system does not answer")

// Other opens what was published in a store of somebody else's, within a time limit. The folder's
// owner and mode are not looked at: whoever named it in GNVCC_STORE believes what is in it, as far
// as a recipe is believed at all.
func (s *Store) Other(dir string) (*Snapshot, error) {
	mark := filepath.Join(s.dir, hungName, Hash([]byte(dir))[:16])
	if info, err := os.Lstat(mark); err == nil {
		if age := time.Since(info.ModTime()); age >= 0 && age < hungFor {
			return nil, fmt.Errorf("%w, and was left alone %.0f s ago for a minute", errHung, age.Seconds())
		}
	}
	hung := func() {
		if s.Writable() == nil {
			_ = writeFile(filepath.Dir(mark), filepath.Base(mark), []byte(dir+"\n"), false)
		}
	}
	sn, ok, err := inTime(func() (*Snapshot, error) {
		return openSnapshot(filepath.Join(dir, snapName))
	})
	if !ok {
		hung()
		return nil, fmt.Errorf("%w within %v", errHung, hungAfter)
	}
	if err == nil {
		r := &limited{f: sn.f, hung: hung}
		sn.flat.data, sn.flat.table = r, r
	}
	return sn, err
}

// inTime asks for something; not ok: there was no answer within the time limit.
func inTime[T any](ask func() (T, error)) (t T, ok bool, err error) {
	done := make(chan func() (T, bool, error), 1)
	go func() {
		t, err := ask()
		done <- func() (T, bool, error) { return t, true, err }
	}()
	select {
	case answer := <-done:
		return answer()
	case <-time.After(hungAfter):
		return t, false, nil
	}
}

// A limited file is read within the time limit. After the first time that this passed nothing more
// is asked of it.
type limited struct {
	f    *os.File
	hung func()
	dead atomic.Bool
}

func (l *limited) ReadAt(p []byte, off int64) (int, error) {
	if l.dead.Load() {
		return 0, errHung
	}
	b := make([]byte, len(p)) // who is late writes into this
	n, ok, err := inTime(func() (int, error) { return l.f.ReadAt(b, off) })
	if !ok {
		if !l.dead.Swap(true) {
			l.hung()
		}
		return 0, errHung
	}
	return copy(p, b[:n]), err
}
