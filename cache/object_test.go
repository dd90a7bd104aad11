package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestObjects(t *testing.T) {
	s := newStore(t)
	b := []byte("a cubin")
	hash, err := s.PutObject(b)
	ok(t, err)
	if hash != Hash(b) || !s.HasObject(hash) || s.HasObject(Hash(nil)) {
		t.Fatalf("hash %s", hash)
	}
	got, err := s.Object(hash)
	if err != nil || string(got) != string(b) {
		t.Fatalf("%q %v", got, err)
	}
	if onDisk, err := os.ReadFile(s.ObjectPath(hash)); err != nil || string(onDisk) != string(b) {
		t.Fatalf("%q %v", onDisk, err)
	}
	file := filepath.Join(t.TempDir(), "k.ptx")
	ok(t, os.WriteFile(file, b, 0o600))
	if again, err := s.PutObjectFile(file); err != nil || again != hash {
		t.Errorf("%s %v", again, err)
	}
	if _, err := s.PutObjectFile(file + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	_, err = s.Object(Hash([]byte("none")))
	wants(t, err, ErrNone)
	_, err = s.Object("../../etc/passwd")
	wants(t, err, ErrCorrupt)
	empty, err := s.PutObject(nil)
	ok(t, err)
	if got, err := s.Object(empty); err != nil || len(got) != 0 {
		t.Errorf("%q %v", got, err)
	}
}

func TestDamagedObject(t *testing.T) {
	s := newStore(t)
	b := []byte("some PTX")
	hash, err := s.PutObject(b)
	ok(t, err)
	// Another length: put writes it anew without a read.
	ok(t, os.WriteFile(s.ObjectPath(hash), nil, 0o600))
	_, err = s.PutObject(b)
	ok(t, err)
	if _, err := s.Object(hash); err != nil {
		t.Fatal(err)
	}
	// The same length: found when read, then gone.
	ok(t, os.WriteFile(s.ObjectPath(hash), []byte("some QTX"), 0o600))
	_, err = s.Object(hash)
	wants(t, err, ErrCorrupt)
	if s.HasObject(hash) {
		t.Error("a damaged object stays")
	}
	_, err = s.PutObject(b)
	ok(t, err)
	if _, err := s.Object(hash); err != nil {
		t.Fatal(err)
	}
}

func TestMemos(t *testing.T) {
	s := newStore(t)
	ok(t, s.PutMemo("ptx", "key-1", []byte("one")))
	ok(t, s.PutMemo("ptx", "key-1", []byte("two")))
	ok(t, s.PutMemo("empty", "key-1", nil))
	if b, hit := s.Memo("ptx", "key-1"); !hit || string(b) != "two" {
		t.Errorf("%q %v", b, hit)
	}
	if b, hit := s.Memo("empty", "key-1"); !hit || len(b) != 0 {
		t.Errorf("%q %v", b, hit)
	}
	if _, hit := s.Memo("ptx", "key-2"); hit {
		t.Error("a memo from nowhere")
	}
	// Under another key or kind, or with a bit changed, it is no memo.
	path := s.memoPath("ptx", "key-1")
	b, err := os.ReadFile(path)
	ok(t, err)
	ok(t, os.WriteFile(s.memoPath("ptx", "key-2"), b, 0o600))
	if _, hit := s.Memo("ptx", "key-2"); hit {
		t.Error("another key's memo was taken")
	}
	for i := range 8 * len(b) {
		b[i/8] ^= 1 << (i % 8)
		ok(t, os.WriteFile(path, b, 0o600))
		if got, hit := s.Memo("ptx", "key-1"); hit {
			t.Fatalf("bit %d changed: %q", i, got)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

// age sets a file's time of use back.
func age(t *testing.T, path string, d time.Duration) {
	t.Helper()
	when := time.Now().Add(-d)
	ok(t, os.Chtimes(path, when, when))
}

func TestTrim(t *testing.T) {
	s := newStore(t)
	kb := func(c string) []byte { return []byte(strings.Repeat(c, 1000)) }
	put := func(c string, d time.Duration) string {
		hash, err := s.PutObject(kb(c))
		ok(t, err)
		age(t, s.ObjectPath(hash), d)
		return hash
	}
	oldest, old, fresh := put("a", 90*time.Hour), put("b", 50*time.Hour), put("c", time.Hour)
	future := put("d", -1000*time.Hour)
	ok(t, s.PutMemo("kind", "key", kb("m")))
	memo := s.memoPath("kind", "key")
	age(t, memo, 80*time.Hour)
	ok(t, s.Spool(Decisions, "k", 1))
	stray := filepath.Join(filepath.Dir(s.ObjectPath(old)), tempMark+"1")
	ok(t, os.WriteFile(stray, kb("t"), 0o600))
	age(t, stray, 2*time.Hour)

	has := func(want string) {
		t.Helper()
		var got []string
		for _, h := range []string{oldest, old, fresh, future} {
			if _, err := os.Stat(s.ObjectPath(h)); err == nil {
				got = append(got, string(map[string]byte{oldest: 'a', old: 'b', fresh: 'c', future: 'd'}[h]))
			}
		}
		if _, err := os.Stat(memo); err == nil {
			got = append(got, "m")
		}
		if s := strings.Join(got, ""); s != want {
			t.Fatalf("left: %s, want %s", s, want)
		}
	}
	ok(t, s.Trim(1<<20))
	has("abcdm")
	if _, err := os.Stat(stray); err == nil {
		t.Error("a killed writer's file stays")
	}
	ok(t, s.Trim(0)) // once a day
	has("abcdm")
	stamp := filepath.Join(s.dir, trimName)
	age(t, stamp, 25*time.Hour)
	ok(t, s.Trim(3500)) // 3 objects and a half: a and m are the oldest two
	has("bcd")
	if s.HasObject(old) { // a use: now the youngest
		age(t, stamp, 25*time.Hour)
		ok(t, s.Trim(0))
	}
	has("bcd") // all used in the last two hours, d since its clock was mended
	age(t, s.ObjectPath(fresh), 3*time.Hour)
	age(t, stamp, -10*time.Hour) // the clock went back: not before tomorrow would be for ever
	ok(t, s.Trim(0))
	has("bd")
	if names, _ := s.pending(); len(names) != 1 {
		t.Error("trimming touched the spool")
	}
}

// A hit is no write: the time of use is set at most hourly.
func TestUsedHourly(t *testing.T) {
	s := newStore(t)
	hash, err := s.PutObject([]byte("x"))
	ok(t, err)
	for _, c := range []struct {
		age     time.Duration
		touched bool
	}{{30 * time.Minute, false}, {61 * time.Minute, true}, {-time.Minute, true}} {
		age(t, s.ObjectPath(hash), c.age)
		before, err := os.Stat(s.ObjectPath(hash))
		ok(t, err)
		if !s.HasObject(hash) {
			t.Fatal("gone")
		}
		after, err := os.Stat(s.ObjectPath(hash))
		ok(t, err)
		if touched := !before.ModTime().Equal(after.ModTime()); touched != c.touched {
			t.Errorf("age %v: touched %v", c.age, touched)
		}
	}
}

// What is no file of ours is not read, at once: a pipe without a writer, a device, a terabyte of nothing.
func TestIrregularFiles(t *testing.T) {
	s := newStore(t)
	fill(t, s, 1)
	hash, err := s.PutObject([]byte("content"))
	ok(t, err)
	ok(t, s.PutMemo("kind", "key", []byte("content")))
	object, memo, snap := s.ObjectPath(hash), s.memoPath("kind", "key"), filepath.Join(s.dir, snapName)
	for what, plant := range map[string]func(path string) error{
		"a pipe":     func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a device":   func(path string) error { return os.Symlink("/dev/zero", path) },
		"a folder":   func(path string) error { return os.Mkdir(path, 0o700) },
		"a terabyte": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
	} {
		for _, path := range []string{object, memo, snap} {
			ok(t, os.RemoveAll(path))
			ok(t, plant(path))
		}
		if _, err := s.Object(hash); err == nil {
			t.Errorf("%s was read as an object", what)
		}
		if _, found := s.Memo("kind", "key"); found {
			t.Errorf("%s was read as a memo", what)
		}
		if sn, err := s.Snapshot(); err == nil {
			if found, _ := sn.Get(Decisions, hashKey(0), nil); found {
				t.Errorf("%s was read as a snapshot", what)
			}
			sn.Close()
		}
		if what != "a folder" { // made anew, as after any damage
			_, err = s.PutObject([]byte("content"))
			ok(t, err)
			ok(t, s.PutMemo("kind", "key", []byte("content")))
			if b, err := s.Object(hash); err != nil || string(b) != "content" {
				t.Errorf("after %s: %q, %v", what, b, err)
			}
		}
	}
}
