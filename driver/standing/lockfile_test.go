package standing

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/cache/lock"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
)

// lockOf is a lock file of n kernels; the recipe is everybody's.
func lockOf(t testing.TB, n int, recipe string) []byte {
	t.Helper()
	var lines []lock.Line
	for i := range n {
		lines = append(lines, lock.Line{Kernel: fmt.Sprintf("_Z9kernel%05dPfii", i),
			Device: "NVIDIA H200", Target: "sm_90",
			Ptxas: "13.0.88", Recipe: recipe, Exact: "construction", Checks: 3, Gain: 1.2,
			Time: time.Unix(1e9, 0).UTC(), Gnvcc: "v1",
			Identity: identityAt(i), Code: strings.Repeat("1", 32)})
	}
	text, err := lock.Write(lines)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func identityAt(i int) string { return cache.HashOf("kernel", fmt.Sprint(i)) }

// lookedUp is the recipe that a build finds for the first kernel.
func lookedUp(t testing.TB, store *cache.Store, path string) string {
	t.Helper()
	kn, err := KnownAt(store, "/", environment.Of([]string{"GNVCC_LOCK=" + path}))
	if err != nil {
		t.Fatal(err)
	}
	defer kn.Close()
	if kn.Problem != nil {
		return "problem: " + kn.Problem.Error()
	}
	return kn.Want(cache.Kernel{Identity: identityAt(0)}, Asker{}).Recipe.String()
}

func lockStore(t testing.TB) (*cache.Store, string) {
	t.Helper()
	dir := t.TempDir()
	store, err := cache.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	return store, filepath.Join(dir, "gnvcc.lock")
}

func put(t testing.TB, path string, text []byte, age time.Duration) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	when := time.Now().Add(-age)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

// TestLockReplaced: a build reads the file as it is now, however it came to be so, and however
// alike its states look.
func TestLockReplaced(t *testing.T) {
	store, path := lockStore(t)
	first, second := lockOf(t, 3, "maxnreg=40"), lockOf(t, 3, "maxnreg=48") // of one length
	for i := range 20 {
		text, want := first, "maxnreg=40"
		if i%2 == 1 {
			text, want = second, "maxnreg=48"
		}
		put(t, path, text, time.Hour) // in place, with one time of modification
		if got := lookedUp(t, store, path); got != want {
			t.Fatalf("%d: %q, want %q", i, got, want)
		}
	}
	if err := os.Truncate(path, int64(len(first)/2)); err != nil {
		t.Fatal(err)
	}
	if got := lookedUp(t, store, path); !strings.Contains(got, "cut off") {
		t.Errorf("cut off: %q", got)
	}
	os.Remove(path)
	if got := lookedUp(t, store, path); !strings.Contains(got, "no such file") {
		t.Errorf("gone: %q", got)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := lookedUp(t, store, path); !strings.Contains(got, "not a regular file") {
		t.Errorf("a pipe: %q", got)
	}
}

// TestLockDuring: while the file is replaced, as git does it (a new file under the name), every
// build reads one of its states.
func TestLockDuring(t *testing.T) {
	store, path := lockStore(t)
	states := [][]byte{lockOf(t, 40, "maxnreg=40"), lockOf(t, 50, "maxnreg=48")}
	put(t, path, states[0], 0)
	stop := make(chan struct{})
	var writer, readers sync.WaitGroup
	writer.Add(1)
	go func() {
		defer writer.Done()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			beside := path + ".new"
			if os.WriteFile(beside, states[i%2], 0o600) == nil {
				os.Rename(beside, path)
			}
		}
	}()
	for range 4 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for range 50 {
				if got := lookedUp(t, store, path); got != "maxnreg=40" && got != "maxnreg=48" {
					t.Errorf("%q", got)
					return
				}
			}
		}()
	}
	readers.Wait()
	close(stop)
	writer.Wait()
}

// TestLockNamed: a relative path is none, 0 is none, and a lock file that nobody has named is not
// read.
func TestLockNamed(t *testing.T) {
	store, path := lockStore(t)
	put(t, path, lockOf(t, 1, "maxnreg=40"), time.Hour)
	if got := lookedUp(t, store, "gnvcc.lock"); !strings.Contains(got, "give it an absolute path") {
		t.Errorf("relative: %q", got)
	}
	kn, _ := KnownAt(store, filepath.Dir(path), environment.Of(nil))
	defer kn.Close()
	if kn.Lock != "" || kn.Problem != nil {
		t.Errorf("beside the build, and not named: %q, %v", kn.Lock, kn.Problem)
	}
}

// TestLockRecipes: a line says no more of a recipe than is true, and no approximation hides in one.
func TestLockRecipes(t *testing.T) {
	good := string(lockOf(t, 1, "maxnreg=40"))
	for recipe, want := range map[string]string{
		"maxnreg=40":       "",
		"lever_to_come=1":  "", // its kernel alone is nvcc's own
		"unroll=2":         "exact=construction: the recipe",
		"approx=all":       "approximates",
		"maxnreg=40 ;rm x": "recipe=",
	} {
		_, err := ParseLock([]byte(strings.Replace(good, "maxnreg=40", recipe, 1)))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", recipe, err, want)
		}
	}
}

// TestOthersPins: pins and approximations of another's store do not count.
func TestOthersPins(t *testing.T) {
	theirs, _ := lockStore(t)
	good := drivertest.Seen("NVIDIA H200", "maxnreg=40", 1)
	approximate := drivertest.Approximated("NVIDIA H200", "approx=all", 3, "/a/k.o")
	drivertest.Kept(t, theirs, good, approximate)
	owner, err := theirs.Own(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pinned := good
	pinned.Recipe, pinned.Pinned = "maxnreg=64", true
	if err = owner.Put(cache.Pins, pinned.Identity, pinned); err == nil {
		err = owner.Publish()
	}
	owner.Close()
	if err != nil {
		t.Fatal(err)
	}
	own, _ := lockStore(t)
	t.Setenv("GNVCC_STORE", own.Path()+":"+theirs.Path())
	kn, err := KnownAt(own, "/", environment.Of(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer kn.Close()
	all, err := kn.All()
	if len(all) != 1 || all[0].Recipe != "maxnreg=40" || err != nil {
		t.Errorf("%+v, %v", all, err)
	}
	by := Asker{Device: "H200", Files: func() []string { return []string{"/a/k.o"} }}
	if w := kn.Want(cache.Kernel{Identity: good.Identity}, by); w.Recipe.String() != "maxnreg=40" ||
		w.From != theirs.Path() {
		t.Errorf("%+v", w)
	}
	if _, err := os.Stat(own.Path()); err == nil {
		t.Error("a look-up has made a store")
	}
}

// BenchmarkLock is what a build waits for a lock file of 1,000 lines.
func BenchmarkLock(b *testing.B) {
	store, path := lockStore(b)
	put(b, path, lockOf(b, 1000, "maxnreg=40 hint@ld=L2::128B"), time.Hour)
	for b.Loop() {
		if got := lookedUp(b, store, path); !strings.Contains(got, "maxnreg=40") {
			b.Fatal(got)
		}
	}
}

// TestEditedLine: a line whose recipe was changed by hand is called that, and no earlier gnvcc's.
func TestEditedLine(t *testing.T) {
	store, path := lockStore(t)
	if err := os.WriteFile(path, bytes.Replace(lockOf(t, 1, "unroll=8"), []byte("exact=construction"), []byte("exact=checked"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	kn, err := KnownAt(store, "/", environment.Of([]string{"GNVCC_LOCK=" + path}))
	if err != nil {
		t.Fatal(err)
	}
	defer kn.Close()
	w := kn.Want(cache.Kernel{Identity: identityAt(0), Name: "_Z9kernel00000Pfii"}, Asker{})
	if w.Refused == nil || !strings.Contains(w.Refused.Error(), "edited by hand") {
		t.Errorf("%+v", w.Refused)
	}
	if Proven(w.Decision) == nil {
		t.Error("such a line is taken into the store")
	}
	if lines, err := ParseLock(lockOf(t, 1, "maxnreg=40")); err != nil || Proven(lines[0].Decision()) != nil {
		t.Errorf("one that needs no proof: %v", err)
	}
}
