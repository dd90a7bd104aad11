package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestDerived: what is derived is found as in a snapshot, is kept by its name, and does not grow
// without end.
func TestDerived(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	var records []Record
	for i := range 1000 {
		records = append(records, Record{Decisions, Hash([]byte(fmt.Sprint(i))),
			Decision{Kernel: fmt.Sprint(i)}})
	}
	if _, ok := s.Derived("lock-a"); ok {
		t.Error("there is one before it was made")
	}
	made, err := s.Derive("lock-a", records)
	if err != nil {
		t.Fatal(err)
	}
	kept, ok := s.Derived("lock-a")
	if !ok {
		t.Fatal("it was not kept")
	}
	defer kept.Close()
	for _, sn := range []*Snapshot{made, kept} {
		for i := 0; i < 1000; i += 37 {
			var d Decision
			if ok, err := sn.Get(Decisions, Hash([]byte(fmt.Sprint(i))), &d); !ok || err != nil ||
				d.Kernel != fmt.Sprint(i) {
				t.Fatalf("%d: %+v, %v, %v", i, d, ok, err)
			}
		}
		if ok, _ := sn.Get(Decisions, "nobody", nil); ok {
			t.Error("found what is not there")
		}
	}
	if _, err := s.Derive("lock-b", append(records, records[7])); err == nil {
		t.Error("two records with one key are taken")
	}
	for _, name := range []string{"../decisions.snapshot", "a/b", ""} {
		if _, err := s.Derive(name, records[:1]); err != nil {
			t.Errorf("%q: %v", name, err) // in memory
		}
		if _, ok := s.Derived(name); ok {
			t.Errorf("%q is a name", name)
		}
	}
	for i := range 3 * maxDerived {
		if _, err := s.Derive(fmt.Sprintf("lock-%03d", i), records[:1]); err != nil {
			t.Fatal(err)
		}
	}
	if files, _ := os.ReadDir(filepath.Join(s.Path(), derivedName)); len(files) != maxDerived {
		t.Errorf("%d are kept", len(files))
	}
	if removed, err := s.ClearMemos(); err != nil || removed.Files != maxDerived {
		t.Errorf("%+v, %v", removed, err)
	}
	if _, err := os.Stat(filepath.Join(s.Path(), snapName)); err == nil {
		t.Error("a name leads out of the folder")
	}
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
