package cache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// said looks for a finding of that level whose text contains what.
func said(t *testing.T, findings []Finding, level Level, what string) {
	t.Helper()
	for _, f := range findings {
		if f.Level == level && strings.Contains(f.What, what) {
			if f.Level == Problem && f.Advice == "" && !strings.Contains(f.What, "files read") &&
				!strings.Contains(f.What, "give it") {
				t.Errorf("a problem without advice: %s", f.What)
			}
			return
		}
	}
	t.Errorf("no %s with %q in %+v", level, what, findings)
}

// healthy wants no problem.
func healthy(t *testing.T, findings []Finding) {
	t.Helper()
	for _, f := range findings {
		if f.Level == Problem {
			t.Errorf("%+v", f)
		}
	}
}

func TestCheckHealthy(t *testing.T) {
	s := newStore(t)
	none := Check(s.dir)
	healthy(t, none)
	said(t, none, Note, "no store yet")
	if _, err := os.Stat(s.dir); err == nil {
		t.Error("looking made the folder")
	}

	fill(t, s, 3)
	ok(t, s.Spool(Decisions, "k", 1))
	_, err := s.PutObject(make([]byte, 5000))
	ok(t, err)
	ok(t, s.PutMemo("kind", "key", nil))
	full := Check(s.dir)
	healthy(t, full)
	said(t, full, Fine, "3 decisions")
	said(t, full, Fine, "1 new record of builds")
	said(t, full, Fine, "4.9 KiB in 2 files; at most 5.0 GiB (GNVCC_MAXSIZE), never trimmed")
	t.Setenv("GNVCC_MAXSIZE", "much")
	said(t, Check(s.dir), Problem, "GNVCC_MAXSIZE is \"much\"")
	t.Setenv("GNVCC_MAXSIZE", "")
	contents := CheckContents(s.dir)
	healthy(t, contents)
	said(t, contents, Fine, "3 files read, 0 damaged")
}

func TestCheckSick(t *testing.T) {
	s := newStore(t)
	fill(t, s, 30)
	write := func(name string, b []byte) { ok(t, os.WriteFile(filepath.Join(s.dir, name), b, 0o600)) }
	published, err := os.ReadFile(filepath.Join(s.dir, snapName))
	ok(t, err)
	write(snapName, published[:len(published)/2])
	said(t, Check(s.dir), Problem, "bytes where")
	write(snapName, []byte(strings.Repeat("x", 9000)))
	said(t, Check(s.dir), Problem, "no seal")
	ok(t, os.Remove(filepath.Join(s.dir, snapName)))
	said(t, Check(s.dir), Note, "nothing has been decided yet")
	fill(t, s, 30)
	setHead(t, s, func(h *flatHeader) { h.Schema = 9 })
	said(t, Check(s.dir), Problem, "schema 9")

	write(snapName+brokenMark+"x", published)
	said(t, Check(s.dir), Note, "damaged decisions")
	ok(t, s.Spool(Decisions, "k", 1))
	write(spoolName+"/x"+badExt, nil)
	said(t, Check(s.dir), Note, "set aside")

	ok(t, os.Chmod(s.dir, 0o770))
	said(t, Check(s.dir), Problem, "its group may write")
	ok(t, os.Chmod(s.dir, 0o777))
	said(t, Check(s.dir), Problem, "everybody may write")
}

func TestCheckContents(t *testing.T) {
	s := newStore(t)
	hash, err := s.PutObject([]byte("object"))
	ok(t, err)
	ok(t, os.WriteFile(s.ObjectPath(hash), []byte("Object"), 0o600))
	ok(t, s.PutMemo("kind", "key", []byte("memo")))
	ok(t, os.WriteFile(s.memoPath("kind", "key"), []byte("memo"), 0o600))
	ok(t, s.Spool(Decisions, "k", 1))
	ok(t, os.WriteFile(filepath.Join(s.dir, spoolName, hash+spoolExt), nil, 0o600))
	ok(t, os.WriteFile(filepath.Join(s.dir, objectName, "stray"), nil, 0o600))
	found := CheckContents(s.dir)
	said(t, found, Problem, "the content has another hash")
	said(t, found, Problem, "no seal")
	said(t, found, Problem, "not what the name says")
	said(t, found, Problem, "no object's name")
	said(t, found, Problem, "5 files read, 4 damaged")
	if b, err := os.ReadFile(s.ObjectPath(hash)); err != nil || string(b) != "Object" {
		t.Error("looking changed something")
	}
}

func TestAgeText(t *testing.T) {
	for age, want := range map[time.Duration]string{
		-time.Hour: "less than no time (the clock went back)", 5 * time.Second: "5 s",
		90 * time.Minute: "1 h", 72 * time.Hour: "3 days",
	} {
		if got := AgeText(time.Now().Add(-age)); got != want {
			t.Errorf("%v: %s, want %s", age, got, want)
		}
	}
}
