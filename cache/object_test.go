package cache

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
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
	if again, err := s.PutObject(b); err != nil || again != hash {
		t.Errorf("%s %v", again, err)
	}
	_, err = s.Object(Hash([]byte("none")))
	wants(t, err, ErrNone)
	_, err = s.Object("../../etc/passwd")
	wants(t, err, errCorrupt)
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
	wants(t, err, errCorrupt)
	if s.HasObject(hash) {
		t.Error("a damaged object stays")
	}
	_, err = s.PutObject(b)
	ok(t, err)
	if _, err := s.Object(hash); err != nil {
		t.Fatal(err)
	}
}

// source is text as a preprocessor gives it: long, and much of it alike.
func source(lines int) []byte {
	var b bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&b,
			"# %d \"/usr/include/cub/device.cuh\" 3\ntemplate <int N%d> struct Block%d { int items[N%d]; };\n", i, i, i*7, i)
	}
	return b.Bytes()
}

// Large texts take little space; what other programs open, and what was kept before, stays as it
// is.
func TestPackedObjects(t *testing.T) {
	s := newStore(t)
	text := source(20_000)
	hash, err := s.PutObject(text)
	ok(t, err)
	info, err := os.Stat(s.ObjectPath(hash) + packedExt)
	ok(t, err)
	if len(text) < 1<<20 || info.Size() > int64(len(text)/4) {
		t.Errorf("%d bytes take %d", len(text), info.Size())
	}
	if _, err := os.Lstat(s.ObjectPath(hash)); err == nil {
		t.Error("it lies there as it was, too")
	}
	whole := func() {
		t.Helper()
		if b, err := s.Object(hash); err != nil || !bytes.Equal(b, text) || !s.HasObject(hash) {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
	}
	whole()
	path, err := s.ObjectFile(hash)
	ok(t, err)
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, text) {
		t.Errorf("for other programs: %v", err)
	}
	// As an older gnvcc kept it: that alone is enough.
	ok(t, os.Remove(path+packedExt))
	whole()
	if _, err := s.PutObject(text); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path + packedExt); err == nil {
		t.Error("packed beside what was there")
	}
	elf := append([]byte("\x7fELF"), text...)
	if hash, err := s.PutObject(elf); err != nil || !isPlain(s, hash) {
		t.Errorf("a cubin is packed: %v", err)
	}
	noise := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	if hash, err := s.PutObject(noise); err != nil || !isPlain(s, hash) {
		t.Errorf("what can't be compressed is packed: %v", err)
	}
}

func isPlain(s *Store, hash string) bool {
	_, err := os.Lstat(s.ObjectPath(hash))
	return err == nil
}

// A packed object that is damaged or cut is an error once, and then made anew; no other text ever
// comes of it.
func TestDamagedPackedObject(t *testing.T) {
	s := newStore(t)
	text := source(2000)
	hash, err := s.PutObject(text)
	ok(t, err)
	path := s.ObjectPath(hash) + packedExt
	packed, err := os.ReadFile(path)
	ok(t, err)
	flipped := func(i int) []byte { b := bytes.Clone(packed); b[i] ^= 4; return b }
	for what, b := range map[string][]byte{
		"empty": nil, "cut": packed[:len(packed)/2], "the text itself": text,
		"another text": pack(source(2001)),
		"a bit":        flipped(len(packed) / 2), "the header": flipped(5), "the mark": flipped(0),
	} {
		ok(t, os.WriteFile(path, b, 0o600))
		if got, err := s.Object(hash); !errors.Is(err, errCorrupt) && !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
		_, err = s.PutObject(text)
		ok(t, err)
		if got, err := s.Object(hash); err != nil || !bytes.Equal(got, text) {
			t.Errorf("after %s: %v", what, err)
		}
	}
	ok(t, os.WriteFile(path, packed, 0o600))
	found := CheckContents(s.dir)
	healthy(t, found)
	ok(t, os.WriteFile(path, pack(source(2001)), 0o600))
	said(t, CheckContents(s.dir), Problem, "the content has another hash")
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

// What is no file of ours is not read, at once: a pipe without a writer, a device, a terabyte of
// nothing.
func TestIrregularFiles(t *testing.T) {
	s := newStore(t)
	fill(t, s, 1)
	hash, err := s.PutObject([]byte("content"))
	ok(t, err)
	ok(t, s.PutMemo("kind", "key", []byte("content")))
	object, memo, snap := s.ObjectPath(hash), s.memoPath("kind", "key"), filepath.Join(s.dir, snapName)
	for what, plant := range map[string]func(path string) error{
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a terabyte": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40))
		},
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

func TestCap(t *testing.T) {
	for text, want := range map[string]int64{
		"": 5 << 30, "0": math.MaxInt64, "5000": 5000, "7K": 7 << 10, "10M": 10 << 20, "3g": 3 << 30,
		"2GiB": 2 << 30, "1T": 1 << 40,
		"-1": -1, "G": -1, "5X": -1, "99999999T": -1, "1.5G": -1, "5GG": -1,
	} {
		t.Setenv("GNVCC_MAXSIZE", text)
		got, err := Cap()
		if want == -1 && (err == nil || got != 5<<30) || want != -1 && (err != nil || got != want) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func TestMemosOfAType(t *testing.T) {
	s := newStore(t)
	type kept struct{ A, B int }
	const kind Memos[kept] = "kind"
	ok(t, kind.Put(s, "key", kept{1, 2}))
	if v, hit := kind.Get(s, "key"); !hit || v != (kept{1, 2}) {
		t.Errorf("%v %v", v, hit)
	}
	ok(t, s.PutMemo("kind", "key", []byte(`{"A":3,"B":"of another form"}`)))
	if v, hit := kind.Get(s, "key"); hit || v != (kept{}) {
		t.Errorf("half of it was taken: %v", v)
	}
	const text Memos[string] = "text"
	ok(t, text.Put(s, "key", `as "it" is`))
	if b, hit := s.Memo("text", "key"); !hit || string(b) != `as "it" is` {
		t.Errorf("%q %v", b, hit)
	}
	if v, hit := text.Get(s, "key"); !hit || v != `as "it" is` {
		t.Errorf("%q %v", v, hit)
	}
	const bad Memos[func()] = "bad"
	if err := bad.Put(s, "key", nil); err == nil {
		t.Error("a function was kept")
	}
}
