package apply

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"gnvcc/cache"
	"gnvcc/driver/record"
)

// TestPlacing kills nothing, and goes through the states in which a kill may leave a placing.
func TestPlacing(t *testing.T) {
	store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, temp := filepath.Join(dir, "k.o"), filepath.Join(dir, ".k.o.gnvcc-1")
	unlock, err := lockApply(context.Background(), store, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	hash := func(s string) string { return cache.Hash([]byte(s)) }
	for _, c := range []struct {
		name          string
		at, beside    string // contents, "" for no file
		want          string
		noteIsARecord bool
		aside         string
	}{
		{"before the copy", "old", "", "old", false, ""},
		{"a torn copy", "old", "ne", "old", false, ""},
		{"before the exchange", "old", "new", "old", false, ""},
		{"between two renames", "", "new", "old", false, "old"},
		{"before the record", "new", "old", "new", true, ""},
		{"after a build's exchange", "new", "built meanwhile", "built meanwhile", false, ""},
		{"a build came after", "built meanwhile", "old", "built meanwhile", false, ""},
		{"deleted meanwhile", "", "old", "", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			os.Remove(path)
			os.Remove(temp)
			for name, text := range map[string]string{path: c.at, temp: c.beside, temp + "~": c.aside} {
				if text != "" {
					if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			key := hash(c.name)
			p := placing{Command: hash("command"), placedFile: placedFile{Path: path, Temp: temp, Was: hash("old"), New: hash("new")},
				Notes: []record.Note{{Unit: key, Assembly: cache.Assembly{Command: "x",
					Cubin: key}}}}
			if err := p.write(store); err != nil {
				t.Fatal(err)
			}
			recoverApply(store)
			if got, _ := os.ReadFile(path); !bytes.Equal(got, []byte(c.want)) {
				t.Errorf("%q, not %q", got, c.want)
			}
			if _, err := os.Lstat(temp); err == nil {
				t.Error("the file beside is still there")
			}
			if len(unfinished(store)) > 0 {
				t.Error("the record is still there")
			}
			if _, ok := record.Noted.Get(store, key); ok != c.noteIsARecord {
				t.Errorf("noted: %v", ok)
			}
		})
	}
}

// TestExchange: a file that was written after it was looked at stays.
func TestExchange(t *testing.T) {
	dir := t.TempDir()
	path, temp := filepath.Join(dir, "k.o"), filepath.Join(dir, "new")
	os.WriteFile(path, []byte("written meanwhile"), 0o644)
	os.WriteFile(temp, []byte("new"), 0o644)
	f := placedFile{Path: path, Temp: temp, Was: cache.Hash([]byte("old")), New: cache.Hash([]byte("new"))}
	if err := f.exchange(); err == nil {
		t.Error("it was replaced")
	}
	if got, _ := os.ReadFile(path); string(got) != "written meanwhile" {
		t.Errorf("%q", got)
	}
}

// TestSwap exchanges two files, in one step and without.
func TestSwap(t *testing.T) {
	noLinks := func(a, b string) error {
		link = func(_, _ string) error { return os.ErrPermission }
		defer func() { link = os.Link }()
		return swapSlowly(a, b)
	}
	for name, how := range map[string]func(a, b string) error{"swap": swap, "slowly": swapSlowly, "without links": noLinks} {
		dir := t.TempDir()
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		os.WriteFile(a, []byte("a"), 0o644)
		os.WriteFile(b, []byte("b"), 0o644)
		if err := how(a, b); err != nil {
			t.Fatal(name, err)
		}
		atA, _ := os.ReadFile(a)
		atB, _ := os.ReadFile(b)
		entries, _ := os.ReadDir(dir)
		if string(atA) != "b" || string(atB) != "a" || len(entries) != 2 {
			t.Errorf("%s: %q %q %v", name, atA, atB, entries)
		}
	}
}
