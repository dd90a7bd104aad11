package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpenMakesNothing(t *testing.T) {
	s := newStore(t)
	_, err := s.Snapshot()
	wants(t, err, ErrNone)
	if _, hit := s.Memo("kind", "key"); hit || s.HasObject(Hash(nil)) {
		t.Error("something in an empty store")
	}
	ok(t, s.Trim(0))
	if _, err := os.Stat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading made the folder: %v", err)
	}
}

func TestUnsafeFolder(t *testing.T) {
	dir := t.TempDir()
	_, err := Open("relative")
	wants(t, err, errUnsafe)
	file := filepath.Join(dir, "file")
	ok(t, os.WriteFile(file, nil, 0o600))
	_, err = Open(file)
	wants(t, err, errUnsafe)
	_, err = Open(filepath.Join(file, "store"))
	wants(t, err, errUnsafe)

	open := filepath.Join(dir, "open")
	ok(t, os.Mkdir(open, 0o700))
	ok(t, os.Chmod(open, 0o777))
	_, err = Open(open)
	wants(t, err, errUnsafe)
	if !strings.Contains(err.Error(), "chmod o-w") {
		t.Errorf("no advice: %v", err)
	}

	if os.Geteuid() != 0 {
		t.Skip("the rest needs root: a folder of another user")
	}
	other := filepath.Join(dir, "other")
	ok(t, os.Mkdir(other, 0o700))
	ok(t, os.Chown(other, 12345, 12345))
	_, err = Open(other)
	wants(t, err, errUnsafe)
}

// A folder that became unsafe between Open and the first write is not written to.
func TestUnsafeLater(t *testing.T) {
	s := newStore(t)
	ok(t, os.Mkdir(s.dir, 0o700))
	ok(t, os.Chmod(s.dir, 0o777))
	wants(t, s.Spool(Decisions, "k", 1), errUnsafe)
	_, err := s.PutObject(nil)
	wants(t, err, errUnsafe)
	_, err = s.Own(context.Background())
	wants(t, err, errUnsafe)
}

func TestNetworkType(t *testing.T) {
	for _, c := range []struct {
		magic uint32
		mount string
		want  string
	}{
		{0xef53, "", ""},     // ext4
		{0x01021994, "", ""}, // tmpfs
		{0x6969, "", "nfs"},
		{0x0bd00bd0, "", "lustre"},
		{fuseType, "fuse.sshfs", "fuse.sshfs"},
		{fuseType, "", "fuse"},
		{fuseType, "fuse.fuse-overlayfs", ""},
	} {
		if got := networkType(c.magic, func() string { return c.mount }); got != c.want {
			t.Errorf("%#x %s: %q, want %q", c.magic, c.mount, got, c.want)
		}
	}
	if got := mountType("/proc"); got != "proc" {
		t.Errorf("/proc is mounted as %q", got)
	}
}

// TestNetworkStore puts a store with a decision on NFS, as far as statfs tells. Builds read it;
// whoever would write is refused and told why, and what to do.
func TestNetworkStore(t *testing.T) {
	s := newStore(t)
	fill(t, s, 1)
	old := statfs
	defer func() { statfs = old }()
	statfs = func(_ string, st *syscall.Statfs_t) error { st.Type = 0x6969; return nil }
	s, err := Open(s.dir) // in another process, as it were
	ok(t, err)
	get(t, snapshot(t, s), 0)
	ok(t, s.PublishSpooled(t.Context())) // who reads only needs no lock
	for what, try := range map[string]func() error{
		"own":    func() error { _, err := s.Own(t.Context()); return err },
		"spool":  func() error { return s.Spool(Decisions, "key", 1) },
		"object": func() error { _, err := s.PutObject([]byte("x")); return err },
		"memo":   func() error { return s.PutMemo("kind", "key", nil) },
	} {
		err := try()
		var known *Error
		if !errors.Is(err, errNetwork) || !errors.As(err, &known) || !strings.Contains(known.Advice,
			"local disk") || !strings.Contains(err.Error(), "(nfs)") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestNames(t *testing.T) {
	s := newStore(t)
	for _, bad := range []string{"", "a", "..", "../x", "a/b", "a\x00", "..%2f", strings.Repeat("x", 129)} {
		if err := s.PutMemo("kind", bad, nil); err == nil {
			t.Errorf("memo key %q taken", bad)
		}
		if err := s.PutMemo(bad, "key", nil); err == nil {
			t.Errorf("memo kind %q taken", bad)
		}
		if err := s.Spool(bad, "key", 1); err == nil {
			t.Errorf("bucket %q taken", bad)
		}
		if _, err := s.Object(bad); err == nil || s.ObjectPath(bad) != "" {
			t.Errorf("an object called %q", bad)
		}
	}
	if err := s.Spool(Decisions, "", 1); err == nil {
		t.Error("an empty key taken")
	}
	if err := s.Spool(Decisions, "k", func() {}); err == nil {
		t.Error("a function taken")
	}
	if err := s.Spool(Decisions, "k", strings.Repeat("x", maxRecord)); err == nil {
		t.Error("a huge record taken")
	}
}

func TestReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere; TestReadOnlyMount has this as root")
	}
	s := newStore(t)
	fill(t, s, 10)
	ok(t, os.Chmod(s.dir, 0o500))
	defer os.Chmod(s.dir, 0o700)
	wants(t, s.Spool("new-bucket", "k", 1), errReadOnly)
	get(t, snapshot(t, s), 3)
}

// TestFolders: GNVCC_STORE is a list; without it the store lies in the user's cache.
func TestFolders(t *testing.T) {
	t.Setenv("GNVCC_STORE", "")
	for _, c := range []struct{ xdg, home, want string }{{"/x", "/h", "/x/gnvcc"}, {"x", "/h", "/h/.cache/gnvcc"},
		{"", "", ""}} {
		t.Setenv("XDG_CACHE_HOME", c.xdg)
		t.Setenv("HOME", c.home)
		if got, err := Dir(); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	t.Setenv("HOME", "/home/me")
	const usual = "/home/me/.cache/gnvcc"
	for list, want := range map[string]struct {
		own    string
		others string
		wrong  bool
	}{
		"":                    {usual, "[]", false},
		"/a":                  {"/a", "[]", false},
		"/a:/b:/c/":           {"/a", "[/b /c]", false},
		":/b":                 {usual, "[/b]", false},
		"/a:":                 {"/a", "[]", false},
		"/a::/b:/b:/a":        {"/a", "[/b]", false},
		"/a:b:/c":             {"/a", "[/c]", true},
		"a:/b":                {"", "[/b]", false},
		":" + usual + ":/opt": {usual, "[/opt]", false},
	} {
		t.Setenv("GNVCC_STORE", list)
		own, err := Dir()
		if own != want.own || (err == nil) != (want.own != "") {
			t.Errorf("%q: own %q, %v", list, own, err)
		}
		others, err := Others()
		if fmt.Sprint(others) != want.others || (err != nil) != want.wrong {
			t.Errorf("%q: others %v, %v; want %s", list, others, err, want.others)
		}
	}
}

// TestNoLocks: a file system that has no locks, and is not known as a network's, is treated as one.
func TestNoLocks(t *testing.T) {
	s := newStore(t)
	fill(t, s, 1)
	defer func() { flock = syscall.Flock }()
	for _, number := range []syscall.Errno{syscall.ENOLCK, syscall.ENOSYS, syscall.EOPNOTSUPP} {
		flock = func(int, int) error { return number }
		_, err := s.Own(t.Context())
		if !errors.Is(err, errNetwork) || !strings.Contains(err.Error(), "GNVCC_STORE") {
			t.Errorf("%v: %v", number, err)
		}
		ok(t, s.PublishSpooled(t.Context()))
	}
}
