package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/profile/capture/capturetest"
)

// workers is a project of some kernels with captured launches, and a store that has seen no search.
type workers struct {
	*site
	local map[string]string // what gnvcc tune decides by itself
}

const workKernels = 3

func newWorkers(t *testing.T) *workers {
	t.Helper()
	t.Log("the GPU is simulated")
	w := &workers{site: newSite(t, kits.Need(t, "13.0").Nvcc(), kits.Short(), "GOMAXPROCS=1",
		"TEST_WORKER=Simulated H200/580.1")}
	w.env = append(w.env, asIfGPU+"="+filepath.Join(w.dir, "measured"))
	var text strings.Builder
	for i := range workKernels {
		fmt.Fprintf(&text, "__global__ void k%d(float *p, int n) { float s = %d; for (int i = threadIdx.x; i < n; i += 32) s = s * p[i] + p[i + n]; p[threadIdx.x] = s; }\n",
			i, i)
	}
	w.write("k.cu", text.String())
	w.good("-arch=sm_90", "-cubin", "-o", "k.cubin", "k.cu")
	_, err := keepLaunch(w.store, filepath.Join(w.dir, "k.cubin"), capturetest.Launch{Program: "app", Grid: 1024,
		Block: 256, Seconds: 1})
	w.must(err)
	if out, err := exec.Command("cp", "-r", w.store, w.store+".before").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := w.replay(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.local = w.decided()
	if len(w.local) != workKernels {
		t.Fatalf("the local run has decided %v", w.local)
	}
	return w
}

// replay searches, and says what was said.
func (w *workers) replay(more ...string) (string, error) {
	return w.gnvcc(append([]string{"tune", "--levers", "hint", "--budget", "900"}, more...)...)
}

// fresh takes back what was found.
func (w *workers) fresh() {
	w.t.Helper()
	os.RemoveAll(w.store)
	if out, err := exec.Command("cp", "-r", w.store+".before", w.store).CombinedOutput(); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
}

// decided are the recipes that stand, by kernel.
func (w *workers) decided() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, d := range w.decisions() {
		if len(d.Evidence.Launches) > 0 {
			out[d.Kernel] = d.Recipe
		}
	}
	return out
}

// alike compares what was decided with the local run.
func (w *workers) alike(what, said string) {
	w.t.Helper()
	if got := w.decided(); !maps.Equal(got, w.local) {
		w.t.Errorf("%s: decided %v, the local run %v\n%s", what, got, w.local, said)
	}
}

// with is replay with one more variable.
func (w *workers) with(variable string, more ...string) (string, error) {
	old := w.env
	defer func() { w.env = old }()
	w.env = append(old[:len(old):len(old)], variable)
	return w.replay(more...)
}

// without: all kernels but one are decided as by the local run, and it is said why that one is not.
func (w *workers) without(kernel, said string, err error, why string) {
	w.t.Helper()
	want := maps.Clone(w.local)
	maps.DeleteFunc(want, func(name, _ string) bool { return strings.Contains(name, kernel) })
	if got := w.decided(); err != nil || len(want) != workKernels-1 || !maps.Equal(got, want) ||
		!strings.Contains(said, why) {
		w.t.Errorf("without %s: decided %v, want %v, %v; said, without %q:\n%s", kernel, got, want, err, why,
			said)
	}
}

// TestWork: two workers on this machine decide what one process does; one that is killed costs
// nothing; one that is not alike is refused by name; without any, this process searches.
func TestWork(t *testing.T) {
	kits.Long(t, "policy/tuner has TestEightWorkers")
	w := newWorkers(t)
	w.fresh()
	said, err := w.replay("--on", "local:gpus=2")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	w.alike("two workers", said)
	for _, want := range []string{"3 kernels for 2 workers", "worker 1 searches", "worker 2 searches"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	if i, j := strings.Index(said, "on k2"), strings.Index(said, "on k0"); i < 0 || j < i {
		t.Errorf("not the heaviest first:\n%s", said)
	}
	// The next run knows what they have found out.
	before, _ := os.ReadFile(filepath.Join(w.dir, "measured"))
	if out, err := w.replay("--on", "local:gpus=2"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.alike("once more", "")
	after, _ := os.ReadFile(filepath.Join(w.dir, "measured"))
	if n, m := bytes.Count(before, []byte("\n")), bytes.Count(after, []byte("\n")); m > 2*n {
		t.Errorf("%d candidates were measured at first, and %d more by a run that has the notes", n, m-n)
	}

	for what, variable := range map[string]string{
		"one that dies":           "TEST_WORK_DIES=" + filepath.Join(w.dir, "died"),
		"one that lies":           "TEST_WORK_LIES=" + filepath.Join(w.dir, "lied"),
		"a GPU of another name":   "TEST_WORKER=Simulated H100/580.1",
		"a GPU of another driver": "TEST_WORK_OTHER=" + filepath.Join(w.dir, "other"),
	} {
		if !kits.Every() && !strings.Contains(variable, "DIES") {
			continue
		}
		w.fresh()
		said, err := w.with(variable, "--on", "local:gpus=2")
		if err != nil {
			t.Errorf("%s: %v\n%s", what, err, said)
		}
		w.alike(what, said)
		if strings.Contains(variable, "H100") && !strings.Contains(said, "has a Simulated H100, and the launches were captured on a Simulated H200") ||
			strings.Contains(variable, "OTHER") && !strings.Contains(said, "workers must be alike") ||
			strings.Contains(variable, "DIES") && !strings.Contains(said, "its worker was lost: ") ||
			strings.Contains(variable, "LIES") && !strings.Contains(said, "has done another order") {
			t.Errorf("%s: it is not named:\n%s", what, said)
		}
	}
	w.fresh()
	said, err = w.with("TEST_WORK_NEVER=k1", "--on", "local:gpus=2")
	w.without("k1", said, err, "k1 was not searched: its worker was lost twice")
	if n := strings.Count(said, "searches on k1"); n != 2 {
		t.Errorf("k1 was ordered %d times, want twice:\n%s", n, said)
	}
	for _, on := range []string{"moon", "local:gpus=0", "local:n=2", "slurm:n=0", "local:gpus"} {
		if out, err := w.replay("--on", on); err == nil || !strings.Contains(out, "--on "+on) {
			t.Errorf("--on %s: %v\n%s", on, err, out)
		}
	}
}
