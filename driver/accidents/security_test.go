package accidents

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"gnvcc/cache"
	"gnvcc/install/kits"
	"gnvcc/profile/agent"
)

// What others could do with the store, and what names could do.

// TestModes builds with a umask of 0: even then nobody else can read or write what is in the store.
func TestModes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.add(t, 1)
	p.units[0].recipe = "maxnreg=40 unroll=2"
	p.shell = "umask 0; "
	p.build(t, p.units[0])
	p.decide(t)
	n := 0
	ok(t, filepath.WalkDir(p.store, func(path string, d fs.DirEntry, err error) error {
		ok(t, err)
		info, err := d.Info()
		ok(t, err)
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700 | fs.ModeDir
		}
		if st := info.Sys().(*syscall.Stat_t); info.Mode() != want || int(st.Uid) != os.Geteuid() {
			t.Errorf("%s: mode %v, user %d", path, info.Mode(), st.Uid)
		}
		n++
		return nil
	}))
	if n < 20 {
		t.Errorf("only %d files: the test tested nothing", n)
	}
}

// TestPlantedLinks puts links into the store, as somebody could who was once able to write there.
// Building, owning, publishing and trimming leave what they point to as it is.
func TestPlantedLinks(t *testing.T) {
	t.Parallel()
	base, _ := one(t)
	for _, what := range []string{"files", "folders"} {
		t.Run(what, func(t *testing.T) {
			p := base.copied(t)
			theirs := filepath.Join(t.TempDir(), "theirs")
			ok(t, os.Mkdir(theirs, 0o700))
			old := time.Now().AddDate(-1, 0, 0)
			want := map[string]string{}
			precious := func(name string) string {
				path := filepath.Join(theirs, name)
				want[path] = "precious " + name
				ok(t, os.WriteFile(path, []byte(want[path]), 0o600))
				ok(t, os.Chtimes(path, old, old))
				return path
			}
			if what == "files" {
				i := 0
				p.files(t, ".", func(path string) {
					ok(t, os.Remove(path))
					i++
					ok(t, os.Symlink(precious(strings.ReplaceAll(strings.TrimPrefix(path, p.store), "/", "_")),
						path))
				})
				for _, name := range []string{"trimmed", "owner.lock"} {
					path := filepath.Join(p.store, name)
					os.Remove(path)
					ok(t, os.Symlink(precious(name), path))
				}
			} else {
				for _, name := range []string{"a.bad", "b.json.bad", "c.json", cache.Hash([]byte("x"))} {
					precious(name)
				}
				for _, name := range []string{"objects", "memo", "spool"} {
					ok(t, os.RemoveAll(filepath.Join(p.store, name)))
					ok(t, os.Symlink(theirs, filepath.Join(p.store, name)))
				}
			}
			p.gives(t, either, "first")
			s, err := cache.Open(p.store)
			ok(t, err)
			if o, err := s.Own(t.Context()); err == nil { // it may refuse
				o.Merge()
				o.Publish()
				o.Close()
			}
			s.Trim(0)
			p.gives(t, either, "second")
			for path, text := range want {
				got, err := os.ReadFile(path)
				if err != nil || string(got) != text {
					t.Errorf("%s: %.40q, %v", path, got, err)
				}
			}
		})
	}
}

// TestHostileRecords has a memo and a record name files outside of the store. Nothing of them is
// written or read.
func TestHostileRecords(t *testing.T) {
	t.Parallel()
	p, _ := one(t)
	s, err := cache.Open(p.store)
	ok(t, err)
	bait := filepath.Join(p.dir, "bait")
	n := 0
	sn, err := s.Snapshot()
	ok(t, err)
	defer sn.Close()
	ok(t, sn.Each(cache.Translations, "", func(key string, _ []byte) error {
		hash, _, _ := strings.Cut(key, ".")
		text, found := s.Memo("translation", hash)
		if !found {
			return nil
		}
		var memo map[string]any
		ok(t, json.Unmarshal(text, &memo))
		args := memo["Args"].([]any)
		memo["Args"] = append([]any{"--gen_c_file_name", bait, "--stub_file_name", "../project/bait",
			"--gen_device_file_name", bait, "--module_id_file_name", bait}, args...)
		memo["Input"] = "../../../../etc/passwd"
		text, err := json.Marshal(memo)
		ok(t, err)
		ok(t, s.PutMemo("translation", hash, text))
		n++
		return nil
	}))
	if n == 0 {
		t.Fatal("no memo of a translation")
	}
	for _, kind := range []string{"build", "variant"} {
		ok(t, os.RemoveAll(filepath.Join(p.store, "memo", kind)))
	}
	// cicc runs in every build and writes the memo anew; by itself ptxas takes what it finds.
	p.gives(t, either, "first")
	if _, err := os.Lstat(bait); err == nil {
		t.Errorf("%s was written", bait)
	}
}

// TestNamesAndTheShell. Names reach a shell in one way only: nvcc gives its steps' lines to sh -c,
// with our prefix, which has a variable in double quotes where a path would stand. So gnvcc and the
// store lie in a folder whose name a shell would act upon. (The names of inputs are pasted into
// those lines by nvcc, which lets the shell expand them; that is the same without us.) Names from
// PTX never get there: tools are started with lists of words, in files whose names are ours.
func TestNamesAndTheShell(t *testing.T) {
	t.Parallel()
	p, _ := one(t)
	odd := `a b'$(touch bait1)"` + "`touch bait2`;touch bait3;&|<>*\\"
	dir := filepath.Join(t.TempDir(), odd)
	ok(t, os.Mkdir(dir, 0o755))
	p.gnvcc = filepath.Join(dir, "gnvcc")
	b, err := os.ReadFile(gnvcc)
	ok(t, err)
	ok(t, os.WriteFile(p.gnvcc, b, 0o755))
	p.env = append(p.env, "GNVCC_STORE="+filepath.Join(dir, "store"))
	ok(t, exec.Command("cp", "-a", p.store, filepath.Join(dir, "store")).Run())
	p.gives(t, recipes, "odd")
	if bait, _ := filepath.Glob(filepath.Join(p.dir, "bait*")); len(bait) > 0 {
		t.Errorf("a shell made %v", bait)
	}
}

// TestAgentIsOurs: the agent is a library that goes into the user's program. One that others could
// have written is not taken.
func TestAgentIsOurs(t *testing.T) {
	t.Parallel()
	kits.Need(t, "13.0")
	if _, err := agent.Find(kit); err != nil {
		t.Skipf("LOUD SKIP: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "agent")
	build := func() (string, error) { return agent.Build(t.Context(), kit, dir) }
	if !kits.Every() { // the agent takes seconds, and what builds it builds a program of one line
		build = func() (string, error) {
			return agent.BuildProgram(t.Context(), kit, dir, "agent", fstest.MapFS{"source/main.c": {
				Data: []byte("int main(void) { return 0; }\n")}})
		}
	}
	path, err := build()
	ok(t, err)
	whole, err := os.ReadFile(path)
	ok(t, err)
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm()&0o022 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for what, plant := range map[string]func() error{
		"others may write": func() error { return os.Chmod(path, 0o666) },
		"the group may":    func() error { return os.Chmod(path, 0o660) },
		"a link": func() error {
			to := filepath.Join(t.TempDir(), "theirs.so")
			return firstOf(os.WriteFile(to, []byte("theirs"), 0o600), os.Remove(path), os.Symlink(to, path))
		},
		"another user's": func() error {
			if os.Geteuid() != 0 {
				return nil
			}
			return os.Chown(path, 12345, 12345)
		},
	} {
		if what != "a link" {
			ok(t, os.WriteFile(path, []byte("theirs"), 0o600))
		}
		ok(t, plant())
		again, err := build()
		ok(t, err)
		got, err := os.ReadFile(again)
		ok(t, err)
		if !bytes.Equal(got, whole) && (os.Geteuid() == 0 || what != "another user's") {
			t.Errorf("%s: taken", what)
		}
	}
	ok(t, os.Chmod(dir, 0o777))
	if _, err := build(); err == nil {
		t.Error("a folder in which everybody may write was taken")
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
