package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A full disk, a limit on file sizes, a read-only mount: each write says what to do, and what was
// there stays.

// cramped writes until nothing goes any more, in all ways that the store has, and gives what was
// wrong with that. It also runs in a child, so it has no testing.T.
func cramped(s *Store, kind error) error {
	var wrong []error
	failures := 0
	check := func(what string, err error) (failed bool) {
		if err == nil {
			return false
		}
		failures++
		var e *Error
		if !errors.Is(err, kind) || !errors.As(err, &e) || e.Advice == "" || e.Path == "" {
			wrong = append(wrong, fmt.Errorf("%s: not %q, or no advice: %w", what, kind, err))
		}
		return true
	}
	big := strings.Repeat("x", 100_000)
	full := func(what string, write func(i int) error) {
		for i := range 200 {
			if check(what, write(i)) {
				return
			}
		}
		wrong = append(wrong, fmt.Errorf("%s: 20 MB were written into a place that is full", what))
	}
	o, err := s.Own(context.Background())
	if !check("own", err) {
		defer o.Close()
		full("publish", func(i int) error {
			return errors.Join(o.Put(Decisions, fmt.Sprint("full-", i), big), o.Publish())
		})
	}
	full("object", func(i int) error {
		noise := make([]byte, len(big)) // which no compression makes smaller
		rand.NewChaCha8([32]byte{byte(i)}).Read(noise)
		_, err := s.PutObject(noise)
		return err
	})
	full("memo", func(i int) error { return s.PutMemo("full", fmt.Sprint("key-", i), []byte(big)) })
	full("spool", func(i int) error { return s.Spool(Decisions, fmt.Sprint("spooled-", i), big) })
	if failures < 4 {
		wrong = append(wrong, fmt.Errorf("only %d writes failed", failures))
	}
	return errors.Join(wrong...)
}

// still checks that nothing was lost, and that the store works where there is space.
func still(t *testing.T, s *Store, n int) {
	t.Helper()
	sn := snapshot(t, s)
	for i := range n {
		get(t, sn, i)
	}
	temps := 0
	filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), tempMark) {
			temps++
		}
		return nil
	})
	if temps > 0 {
		t.Errorf("%d temporary files left", temps)
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m,mode=0700"); err != nil {
		t.Skipf("needs a small tmpfs, mounting it: %v (root can); TestFileLimit has the same writes", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	s, err := Open(filepath.Join(dir, "store"))
	ok(t, err)
	fill(t, s, 100)
	ok(t, s.Spool(Decisions, hashKey(100), decision(100)))
	ok(t, cramped(s, errFull))
	still(t, s, 100)
	// With space again everything goes on, the spool of before included.
	ok(t, os.RemoveAll(filepath.Join(s.dir, objectName)))
	ok(t, os.RemoveAll(filepath.Join(s.dir, memoName)))
	big, _ := filepath.Glob(filepath.Join(s.dir, spoolName, "*"))
	for _, f := range big {
		if info, err := os.Stat(f); err == nil && info.Size() > 50_000 {
			os.Remove(f)
		}
	}
	syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m,mode=0700")
	o := own(t, s)
	if len(o.Notes()) > 0 {
		t.Errorf("mended: %q", o.Notes())
	}
	if _, err := o.Merge(); err != nil {
		t.Fatal(err)
	}
	ok(t, o.Publish())
	ok(t, o.Close())
	still(t, s, 101)
}

func TestReadOnlyMount(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m,mode=0700"); err != nil {
		t.Skipf("needs a tmpfs, mounting it: %v (root can)", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	s, err := Open(filepath.Join(dir, "store"))
	ok(t, err)
	fill(t, s, 100)
	hash, err := s.PutObject([]byte("before"))
	ok(t, err)
	ok(t, s.PutMemo("kind", "key", []byte("before")))
	ok(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	s, err = Open(s.dir)
	ok(t, err)
	ok(t, cramped(s, errReadOnly))
	wants(t, s.Trim(0), errReadOnly)
	ok(t, s.PublishSpooled(context.Background())) // status reads what was published
	if _, err := s.Object(hash); err != nil {
		t.Error(err)
	}
	if _, hit := s.Memo("kind", "key"); !hit {
		t.Error("no memo")
	}
	still(t, s, 100)
}

func init() {
	roles["limited"] = func(dir string) error {
		// RLIMIT_FSIZE: writes beyond get EFBIG, since the Go runtime does not let SIGXFSZ end the
		// process.
		limit := syscall.Rlimit{Cur: 90_000, Max: 90_000}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		s, err := Open(dir)
		if err != nil {
			return err
		}
		return cramped(s, errFull)
	}
}

func TestFileLimit(t *testing.T) {
	s := newStore(t)
	fill(t, s, 100)
	self, err := os.Executable()
	ok(t, err)
	cmd := exec.Command(self, s.dir)
	cmd.Env = append(os.Environ(), roleEnv+"=limited")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	still(t, s, 100)
	o := own(t, s)
	if len(o.Notes()) > 0 {
		t.Errorf("mended: %q", o.Notes())
	}
	ok(t, o.Put(Decisions, hashKey(100), decision(100)))
	ok(t, o.Publish())
	still(t, s, 101)
}
