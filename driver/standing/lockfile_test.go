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
	// When the file has been as it is for a while, its state stands for its content.
	// an inode's own time can't be set: what is kept of the state is made older in its place
	old := func() {
		time.Sleep(settled + 100*time.Millisecond)
	}
	old()
	for range 2 {
		if got := lookedUp(t, store, path); got != "maxnreg=48" {
			t.Fatalf("%q", got)
		}
	}
	put(t, path, first, time.Hour)
	if got := lookedUp(t, store, path); got != "maxnreg=40" {
		t.Errorf("changed in place after a while, with the old time of modification: %q", got)
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

// TestLockIndex: a damaged index or memo costs time, and no wrong recipe; neither does a store that
// can't be written.
func TestLockIndex(t *testing.T) {
	store, path := lockStore(t)
	put(t, path, lockOf(t, 10, "maxnreg=40"), time.Hour)
	lookedUp(t, store, path)
	files, _ := filepath.Glob(filepath.Join(store.Path(), "derived", "*"))
	if len(files) != 1 {
		t.Fatalf("%d indexes", len(files))
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	mended, unseen := 0, 0
	for at := 0; at < len(whole); at += 97 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x10
		if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		switch got := lookedUp(t, store, path); got {
		case "maxnreg=40":
			mended++
		case "": // the beginning of a name in the table: a look-up goes by, and the kernel is nvcc's own
			unseen++
		default:
			t.Fatalf("byte %d: %q", at, got)
		}
	}
	if unseen > 3 {
		t.Errorf("found in spite of damage %d times, not found %d times", mended, unseen)
	}
	if err := os.WriteFile(files[0], whole[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	if got := lookedUp(t, store, path); got != "maxnreg=40" {
		t.Errorf("a cut index: %q", got)
	}
	nowhere, err := cache.Open("/proc/nowhere")
	if err != nil {
		t.Fatal(err)
	}
	if got := lookedUp(t, nowhere, path); got != "maxnreg=40" {
		t.Errorf("without a store: %q", got)
	}
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
	if _, err := os.Stat(filepath.Join(own.Path(), "decisions.db")); err == nil {
		t.Error("a look-up has made a database")
	}
}

// BenchmarkLock is what a build waits for a lock file of 10,000 lines: opening it and looking ten
// kernels up. "first" is what the first build after a change pays.
func BenchmarkLock(b *testing.B) {
	const lines, kernels = 10_000, 10
	store, path := lockStore(b)
	text := lockOf(b, lines, "maxnreg=40 hint@ld=L2::128B")
	put(b, path, text, time.Hour)
	env := environment.Of([]string{"GNVCC_LOCK=" + path})
	look := func(b *testing.B) {
		kn, err := KnownAt(store, "/", env)
		if err != nil || kn.Problem != nil {
			b.Fatal(err, kn.Problem)
		}
		for i := range kernels {
			if kn.Want(cache.Kernel{Identity: identityAt(i * 997 % lines)}, Asker{}).Recipe.IsDefault() {
				b.Fatal("not found")
			}
		}
		kn.Close()
	}
	processor := func() float64 { // seconds, of this process
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			os.RemoveAll(filepath.Join(store.Path(), "derived"))
			os.RemoveAll(filepath.Join(store.Path(), "memo"))
			b.StartTimer()
			look(b)
		}
		b.ReportMetric(float64(len(text)), "bytes")
	})
	time.Sleep(settled + 100*time.Millisecond)
	b.Run("later", func(b *testing.B) {
		look(b)
		begun := processor()
		for b.Loop() {
			look(b)
		}
		b.ReportMetric((processor()-begun)/float64(b.N)*1e6, "cpu-us/op")
	})
}
