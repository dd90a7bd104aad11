package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/bench/watch/script"
	"gnvcc/cache"
	"gnvcc/install/kits"
	"gnvcc/profile/capture"
	"gnvcc/profile/capture/capturetest"
	"gnvcc/sim/cubin"
)

// A watched is the script's project, built with real nvcc, on the simulated GPU, with a captured launch of each kernel.
type watched struct {
	*script.Project
	t   *testing.T
	kit kits.Kit
	tmp string
}

func newWatched(t *testing.T, levers string) *watched {
	t.Helper()
	w := &watched{t: t, kit: kits.Need(t, "13.0"), tmp: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	gnvcc := filepath.Join(w.tmp, "gnvcc")
	if err := copyFile(self, gnvcc); err != nil {
		t.Fatal(err)
	}
	scratch := filepath.Join(w.tmp, "tmp")
	os.Mkdir(scratch, 0o700)
	store := filepath.Join(w.tmp, "store")
	w.Project = &script.Project{Gnvcc: gnvcc, Dir: filepath.Join(w.tmp, "project"), Store: store, Env: append(os.Environ(),
		"GNVCC_STORE="+store, "GNVCC_NVCC="+w.kit.Nvcc(), "TMPDIR="+scratch, "GNVCC_STRICT=1", "GNVCC_DEVICE=Simulated", "TERM=dumb",
		asIfGPU+"="+filepath.Join(w.tmp, "measured"), "TEST_LEVERS="+levers)}
	w.must(w.Write())
	w.must(w.Build())
	w.capture("many", 1)
	return w
}

func copyFile(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

func (w *watched) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// capture makes up a launch of each kernel that a program has; kernel n takes n seconds of the run.
func (w *watched) capture(program string, seconds float64) {
	w.t.Helper()
	dir := w.t.TempDir()
	cmd := exec.Command(filepath.Join(filepath.Dir(w.kit.Nvcc()), "cuobjdump"), "-xelf", "all", filepath.Join(w.Dir, program))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("cuobjdump: %v\n%s", err, out)
	}
	s, err := capture.Open(filepath.Join(w.Store, "captures"))
	w.must(err)
	found, _ := filepath.Glob(filepath.Join(dir, "*.cubin"))
	n := 0
	for _, path := range found {
		b, err := os.ReadFile(path)
		w.must(err)
		f, err := cubin.Read(b)
		w.must(err)
		for _, k := range f.Kernels {
			var params [][2]int
			for _, p := range k.Params {
				params = append(params, [2]int{p.Offset, p.Size})
			}
			number := 1.0
			fmt.Sscanf(strings.TrimLeft(k.Name, "_Z0123456789"), "k%f", &number)
			_, err := capturetest.Keep(s, capturetest.Launch{Program: filepath.Join(w.Dir, program), Kernel: k.Name, Cubin: b,
				Params: params, Grid: 16384, Block: 256, Seconds: number * seconds, Made: time.Now()})
			w.must(err)
			n++
		}
	}
	if n == 0 {
		w.t.Fatalf("no kernel in %s", program)
	}
}

// recipes are the recipes that the project's kernels were built with last, by kernel.
func (w *watched) recipes() map[string]string {
	w.t.Helper()
	store, err := cache.Open(w.Store)
	w.must(err)
	all, err := built(store)
	w.must(err)
	out, when := map[string]string{}, map[string]time.Time{}
	for _, a := range all {
		for _, k := range a.Kernels {
			if a.Time.After(when[k.Name]) {
				out[k.Name], when[k.Name] = k.Recipe, a.Time
			}
		}
	}
	return out
}

// TestWatchScript edits a project of many kernels as people do, with gnvcc watch running: after each edit the right kernels are
// tuned again, and only they. The compiler is real, the GPU SIMULATED; bench/watch does the same with a real one.
func TestWatchScript(t *testing.T) {
	t.Log("the GPU is simulated (go run ./bench/watch on a GPU machine does the same on a real one)")
	w := newWatched(t, "ld")
	w.must(w.Start())
	defer func() { t.Log("\n" + w.Output()) }()
	want := map[string]bool{}
	for i, e := range script.Edits() {
		before := simLog(w.tmp)
		r, err := w.Do(e)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%2d. %s: %.2f s", i+1, e.Name, r.Took.Seconds())
		if r.Wrong != "" {
			t.Errorf("%s: %s", e.Name, r.Wrong)
		}
		tuned := map[string]bool{}
		for _, n := range e.Tuned {
			tuned[script.Name(n)], want[script.Name(n)] = true, true
		}
		for kernel, n := range simLog(w.tmp) {
			if n != before[kernel] && !tuned[kernel] {
				t.Errorf("%s: %d candidates were measured for %s", e.Name, n-before[kernel], kernel)
			}
		}
	}
	// The user's own build comes, and applies what was found for the kernels as they are now.
	w.must(w.Build())
	var applied []string
	for kernel, recipe := range w.recipes() {
		if recipe != "" {
			applied = append(applied, kernel)
		}
	}
	for _, n := range []int{1, 2, 3, 4, 5, 6, 11} { // the other branch's kernel 10 was left behind
		if w.recipes()[script.Name(n)] == "" {
			t.Errorf("k%d is built without a recipe; with one: %q", n, applied)
		}
	}
	w.must(w.Stop())
}
