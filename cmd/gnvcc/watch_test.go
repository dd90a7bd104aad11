package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/install/kits"
	"gnvcc/policy/watch"
	"gnvcc/profile/capture/capturetest"
)

// A watched is the script's project, built with real nvcc, on the simulated GPU, with a captured
// launch of each kernel.
type watched struct {
	*site
	*watchProject
	kit kits.Kit
	tmp string
}

func newWatched(t *testing.T, levers string) *watched {
	t.Helper()
	w := &watched{kit: kits.Need(t, "13.0"), tmp: t.TempDir()}
	w.site = newSite(t, w.kit.Nvcc(), kits.Short(), "GNVCC_STRICT=1", "GNVCC_DEVICE=Simulated",
		asIfGPU+"="+filepath.Join(w.tmp, "measured"), "TEST_LEVERS="+levers)
	w.watchProject = &watchProject{site: w.site}
	for name, text := range watchFiles() {
		w.write(name, text)
	}
	w.must(w.Build())
	w.capture("many", 1)
	return w
}

// capture makes up a launch of each kernel that a program has; kernel n takes n seconds of the run.
func (w *watched) capture(program string, seconds float64) {
	w.t.Helper()
	w.must(keepLaunches(w.kit.Nvcc(), w.store, filepath.Join(w.dir, program), seconds))
}

// keepLaunches does so.
func keepLaunches(nvcc, store, program string, seconds float64) error {
	dir, err := os.MkdirTemp("", "cubins-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(filepath.Join(filepath.Dir(nvcc), "cuobjdump"), "-xelf", "all", program)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cuobjdump: %w\n%s", err, out)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*.cubin"))
	if len(found) == 0 {
		return fmt.Errorf("no kernel in %s", program)
	}
	for _, path := range found {
		if _, err := keepLaunch(store, path, capturetest.Launch{Program: program, Grid: 16384, Block: 256,
			Seconds: seconds}); err != nil {
			return err
		}
	}
	return nil
}

// recipes are the recipes that the project's kernels were built with last, by kernel.
func (w *watched) recipes() map[string]string {
	w.t.Helper()
	store, err := cache.Open(w.store)
	w.must(err)
	out, when := map[string]string{}, map[string]time.Time{}
	for _, b := range record.Built(store) {
		if b.Assembly.Time.After(when[b.Name]) {
			out[b.Name], when[b.Name] = b.Recipe, b.Assembly.Time
		}
	}
	return out
}

// TestWatchScript edits a project of many kernels as people do, with gnvcc watch running: after
// each edit the right kernels are tuned again, and only they. The compiler is real, the GPU
// SIMULATED.
func TestWatchScript(t *testing.T) {
	kits.Long(t, "policy/watch has TestEdited and TestHeader")
	t.Log("the GPU is simulated")
	w := newWatched(t, "hint")
	w.must(w.Start())
	defer func() { t.Log("\n" + w.Output()) }()
	edits, built, least := watchEdits(), []int{1, 2, 3, 4, 5, 6, 11}, 10
	want := map[string]bool{}
	for _, e := range edits {
		before := simLog(w.tmp)
		wrong, err := w.Do(e)
		if err != nil {
			t.Fatal(err)
		}
		if wrong != "" {
			t.Errorf("%s: %s", e.Name, wrong)
		}
		tuned := map[string]bool{}
		for _, n := range e.Tuned {
			tuned[watchName(n)], want[watchName(n)] = true, true
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
	for range 100 { // watch publishes what the build has noted, soon
		for kernel, recipe := range w.recipes() {
			if recipe != "" {
				applied = append(applied, kernel)
			}
		}
		if len(applied) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, n := range built { // the other branch's kernel 10 was left behind
		if w.recipes()[watchName(n)] == "" {
			t.Errorf("k%d is built without a recipe; with one: %q", n, applied)
		}
	}
	w.must(w.Stop())
	all := w.decisions()
	for _, d := range all {
		if !strings.Contains(d.Evidence.Note, "captured before the kernel was edited") ||
			d.Evidence.Device != "Simulated H200" {
			t.Errorf("the decision on %s does not say what it rests on: %+v", d.Kernel, d.Evidence)
		}
	}
	if len(all) < least {
		t.Errorf("%d decisions", len(all))
	}
}

// TestWatchRests: one watch on a machine; it rests on battery and while the GPU is used; killed, it
// leaves nothing that the next one stumbles over; what was edited while none ran is tuned when one
// starts.
func TestWatchRests(t *testing.T) {
	kits.Long(t, "policy/watch has TestYield")
	t.Log("the GPU is simulated")
	w := newWatched(t, "hint")
	supply := filepath.Join(w.tmp, "power", "BAT0")
	w.must(os.MkdirAll(supply, 0o700))
	battery := func(status string) {
		w.must(os.WriteFile(filepath.Join(supply, "status"), []byte(status+"\n"), 0o600))
	}
	w.must(os.WriteFile(filepath.Join(supply, "type"), []byte("Battery\n"), 0o600))
	battery("Full")
	load := filepath.Join(w.tmp, "load")
	w.env = append(w.env, "TEST_POWER_SUPPLY="+filepath.Dir(supply), "TEST_GPU_LOAD="+load)
	if out, err := w.gnvcc("watch", "--status"); err == nil ||
		!strings.Contains(out, "is not running") {
		t.Errorf("before it runs: %v: %s", err, out)
	}
	w.must(w.Start())
	if out, err := w.gnvcc("watch"); err == nil ||
		!strings.Contains(out, "is running already (process ") {
		t.Errorf("a second watch: %v: %s", err, out)
	}
	w.env = append(w.env, "GNVCC_STORE="+filepath.Join(w.tmp, "other")) // the last one counts
	if out, err := w.gnvcc("watch"); err == nil ||
		!strings.Contains(out, "another gnvcc watch is running on this machine") {
		t.Errorf("a watch with another store: %v: %s", err, out)
	}
	w.env = w.env[:len(w.env)-1]
	if out, err := w.gnvcc("watch", "--status"); err != nil ||
		!strings.Contains(out, "nothing to do") {
		t.Errorf("idle: %v: %s", err, out)
	}

	edit := func(to string) {
		w.must(w.Change("many.cu", func(text string) string {
			_, rest, _ := strings.Cut(text, "float sum = 3.")
			value, _, _ := strings.Cut(rest, ";")
			return strings.Replace(text, "float sum = 3."+value, "float sum = 3."+to, 1)
		}))
	}
	paused := func(word string) {
		t.Helper()
		s, err := w.Until(func(s watch.Status) bool { return strings.Contains(s.Paused, word) })
		w.must(err)
		if s.Idle || len(s.Candidates) > 0 {
			t.Errorf("%+v", s)
		}
	}
	battery("Discharging")
	edit("25f")
	paused("battery")
	w.must(os.WriteFile(load, []byte("80"), 0o600))
	battery("Charging")
	paused("busy with work of others (80 %)")
	w.must(os.WriteFile(load, []byte("0"), 0o600))
	tuned := func(kernel string) {
		t.Helper()
		s, err := w.Until(func(s watch.Status) bool { return s.Idle && len(s.Done) == 1 })
		w.must(err)
		if s.Done[0].Kernel != kernel || s.Done[0].Recipe == "" || len(s.Candidates) != 1 {
			t.Errorf("%+v", s)
		}
	}
	tuned(watchName(3))

	w.must(w.Kill())
	if out, err := w.gnvcc("watch", "--status"); err == nil ||
		!strings.Contains(out, "is not running; at ") {
		t.Errorf("killed: %v: %s", err, out)
	}
	if out, err := w.gnvcc("watch", "--stop"); err != nil || !strings.Contains(out, "is not running") {
		t.Errorf("nothing to stop: %v: %s", err, out)
	}
	before := simLog(w.tmp)
	w.must(w.Replace("many.cu", "float sum = 5.0f;", "float sum = 5.5f;"))
	w.must(w.Start())
	tuned(watchName(5))
	if after := simLog(w.tmp); after[watchName(3)] != before[watchName(3)] {
		t.Error("what was decided before kill -9 was measured again")
	}
	w.must(w.Stop())
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(w.exe), "tmp", "gnvcc-*"))
	left = slices.DeleteFunc(left, func(path string) bool {
		return path == filepath.Join(filepath.Dir(w.exe), "tmp", "gnvcc-watch.lock")
	})
	for _, path := range left { // those of the killed one go with the next command after a minute
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			t.Errorf("left in TMPDIR: %q", left)
		}
	}
}

// TestWatchRun: a kernel with a new name waits for the next run, and watch --run runs the program
// by itself when it is built. Without a GPU kernels wait.
func TestWatchRun(t *testing.T) {
	kits.Long(t, "TestWatchScript has a watch and its edits")
	w := newWatched(t, "hint")
	ran := filepath.Join(w.tmp, "ran")
	program := filepath.Join(w.dir, "run me.sh")
	w.must(os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\" >>'"+ran+"'\n"), 0o755))
	w.Watch = []string{"--run", `"` + program + `" 'one word' two`}
	w.env = append(w.env, "TEST_NO_GPU=yes")
	w.must(w.Start())
	w.must(w.Replace("many.cu", "float sum = 4.0f;", "float sum = 4.5f;"))
	s, err := w.Until(func(s watch.Status) bool {
		return len(s.Waiting) == 1
	})
	w.must(err)
	if !strings.HasPrefix(s.Waiting[0].Why, "there is no NVIDIA driver here") ||
		len(s.Candidates) > 0 || s.Idle {
		t.Errorf("%+v", s)
	}
	w.must(w.Change("many.cu", func(text string) string {
		return strings.NewReplacer("void k12(", "void last(", "k12<<<", "last<<<").Replace(text)
	}))
	_, err = w.Until(func(s watch.Status) bool { return len(s.Waiting) == 2 })
	w.must(err)
	if _, err := os.Stat(ran); err == nil {
		t.Error("run before the build")
	}
	w.must(w.Build())
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		log, _ := os.ReadFile(filepath.Join(w.store, "watch", "log"))
		if strings.Contains(string(log), "the program was run for ") {
			if !strings.Contains(string(log), "no NVIDIA driver here") || !strings.Contains(string(log),
				"_Z4lastPfPKfi") {
				t.Errorf("the run: %s", log)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the program was not run: %s", log)
		}
	}
	w.must(w.Stop())
}

// TestWatchUpgrade: another toolkit in the place of the first one makes all kernels others: they
// are tuned by weight, each once.
func TestWatchUpgrade(t *testing.T) {
	t.Log("the GPU is simulated")
	newer := kits.Need(t, "13.3")
	w := newWatched(t, "hint")
	link := filepath.Join(w.tmp, "cuda")
	w.must(os.Symlink(filepath.Dir(filepath.Dir(w.kit.Nvcc())), link))
	w.env = append(w.env, "GNVCC_NVCC="+filepath.Join(link, "bin", "nvcc"))
	w.must(w.Build())
	w.must(w.Start())
	w.must(os.Remove(link))
	w.must(os.Symlink(filepath.Dir(filepath.Dir(newer.Nvcc())), link))
	w.must(w.Stop())
	w.must(w.Start()) // or five minutes later, when all files are looked at
	s, err := w.Until(func(s watch.Status) bool { return s.Idle && len(s.Done) > 0 })
	w.must(err)
	if len(s.Done) != watchKernels {
		t.Fatalf("%d kernels were tuned again: %+v", len(s.Done), s)
	}
	for i, d := range s.Done { // the last one first; kernel n takes n seconds of the run
		if d.Kernel != watchName(i+1) {
			t.Errorf("as number %d %s was tuned", len(s.Done)-i, d.Kernel)
		}
	}
	w.must(w.Stop())
}
