package examples

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"gnvcc/cache"
	"gnvcc/install/kits"
)

// TestRecorded: what make demo shows where there is no GPU is for the examples as they are. Every
// recipe of recorded-h200.json is in a build with the toolkit that it was measured with; an example
// that was edited since, or a rule that refuses a recipe, shows here, and then the recipes have to
// be measured anew.
func TestRecorded(t *testing.T) {
	kits.Long(t, "the levers' own tests take recipes of each kind")
	compiler := nvcc(t, "13.0")
	dir := t.TempDir()
	gnvcc := filepath.Join(dir, "gnvcc")
	run(t, true, "go", "build", "-buildvcs=false", "-o", gnvcc, "../cmd/gnvcc")
	recorded := recordedDecisions(t)
	env := append(os.Environ(), "GNVCC_NVCC="+compiler, "GNVCC_STORE="+filepath.Join(dir, "store"),
		"GNVCC_DEVICE=", "GNVCC_OFF=")
	do := func(args ...string) string {
		cmd := exec.Command(gnvcc, args...)
		cmd.Env = env
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("gnvcc %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	do("lock", "--take", "recorded-h200.json")
	var wait sync.WaitGroup
	places := make(chan struct{}, runtime.NumCPU())
	for _, example := range list(t) {
		wait.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			// An example of several files has no object of its name; none of those is recorded.
			object := filepath.Join(dir, example, example+".o")
			cmd := exec.Command("make", "-s", "-C", example, "NVCC="+gnvcc, "O="+filepath.Dir(object),
				object)
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(string(out),
				"No rule to make target") {
				t.Errorf("%s: %v\n%s", example, err, out)
			}
		})
	}
	wait.Wait()
	var status struct {
		Outputs []struct {
			Kernels []struct{ Kernel, Recipe, Wanted, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(do("status", "--json", dir)), &status); err != nil {
		t.Fatal(err)
	}
	built := map[string]int{}
	for _, o := range status.Outputs {
		for _, k := range o.Kernels {
			if k.Recipe != k.Wanted {
				t.Errorf("%s %s: built is %q: %s", k.Kernel, k.Wanted, k.Recipe, k.Reason)
			}
			built[k.Kernel+" "+k.Wanted]++
		}
	}
	n := 0
	for _, d := range recorded {
		if d.Recipe == "" {
			continue
		}
		n++
		if built[d.Kernel+" "+d.Recipe] == 0 {
			t.Errorf("no build takes the recipe that was recorded for %s: %s", d.Kernel, d.Recipe)
		}
	}
	if n < 12 {
		t.Errorf("only %d recipes are recorded", n)
	}
}

// recordedDecisions reads recorded-h200.json.
func recordedDecisions(t *testing.T) []cache.Decision {
	t.Helper()
	text, err := os.ReadFile("recorded-h200.json")
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Kernels []struct{ Decision cache.Decision }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	var all []cache.Decision
	for _, e := range report.Kernels {
		all = append(all, e.Decision)
	}
	return all
}
