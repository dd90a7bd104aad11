package accidents

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/driver/compile"
)

// TestTokens has a make of N jobs build files with several source variants each. A build is one
// job: whatever its recipes ask for, no more than one of the tools runs for it at a time, so that
// never more than N do.
func TestTokens(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	seen := filepath.Join(p.dir, "seen")
	// Appending a short line is atomic; the order of the lines is that of the file's growth.
	script := `case "$1" in --version) exec %[1]s --version;; esac
echo + >>'` + seen + `'; %[1]s "$@"; code=$?; echo - >>'` + seen + `'; exit $code`
	root := shadow(t, shadow(t, kit, "bin/ptxas", script), "nvvm/bin/cicc", script)
	p.env = append(p.env, "GNVCC_NVCC="+filepath.Join(root, "bin/nvcc"))

	const files, kernels, jobs = 3, 3, 2
	var all []string
	for i := range files {
		var text strings.Builder
		text.WriteString(
			"__device__ int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s ^= s * 5 + i; return s; }\n")
		for k := range kernels {
			// All reach the loop of one function, which each recipe unrolls by another factor: so no run of
			// cicc serves two.
			text.WriteString(strings.Replace(kernel(i*kernels+k), "  unsigned a[24];",
				"  n += sum(n);\n  unsigned a[24];", 1))
		}
		name := fmt.Sprint("t", i)
		all = append(all, name+".cubin")
		ok(t, os.WriteFile(filepath.Join(p.dir, name+".cu"), []byte(text.String()), 0o644))
	}
	ok(t, os.WriteFile(filepath.Join(p.dir, "tokens.mk"),
		[]byte("%.cubin: %.cu\n\t+@$(NVCC) -arch=sm_80 -cubin -o $@ $<\n"), 0o644))
	build := func() (most, runs int) {
		os.Remove(seen)
		cmd := exec.Command("make", append([]string{"-B", "-s", fmt.Sprint("-j", jobs), "-f", "tokens.mk",
			"NVCC=" + gnvcc}, all...)...)
		cmd.Dir, cmd.Env = p.dir, p.env
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("make: %v\n%s", err, out)
		}
		text, err := os.ReadFile(seen)
		ok(t, err)
		now := 0
		for _, line := range strings.Fields(string(text)) {
			if line == "+" {
				runs++
				now++
				most = max(most, now)
			} else {
				now--
			}
		}
		return most, runs
	}
	if most, runs := build(); most > jobs || runs != 2*files {
		t.Errorf("without recipes: %d tools ran, %d at a time", runs, most)
	}
	s, err := cache.Open(p.store)
	ok(t, err)
	ids := p.identities(t, s)
	if len(ids) != files*kernels {
		t.Fatalf("%d kernels", len(ids))
	}
	factor := 1
	for _, id := range ids {
		factor++
		d, err := compile.Assume(t.Context(), s, id, fmt.Sprintf("unroll=%d maxnreg=40", factor))
		ok(t, err)
		ok(t, s.Spool(cache.Decisions, id, d))
	}
	publish(t, s)
	most, runs := build()
	if runs < files*(2+kernels) { // each kernel's own cicc, and two ptxas or one more
		t.Errorf("only %d tools ran with recipes: the test tested nothing", runs)
	}
	if most > jobs {
		t.Errorf("%d tools ran at a time for %d jobs", most, jobs)
	}
	t.Logf("%d tools for %d files with recipes, at most %d at a time", runs, files, most)
}

// TestApplyToken has a make of several jobs start gnvcc apply: it has one token, and runs one
// command at a time.
func TestApplyToken(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.add(t, 3)
	p.make(t, 2, gnvcc, "cubin")
	for i, recipe := range []string{"maxnreg=32", "maxnreg=40"} {
		for _, u := range p.units {
			u.recipe = recipe
		}
		s, err := cache.Open(p.store)
		ok(t, err)
		for name, id := range p.identities(t, s) {
			ok(t, s.Spool(cache.Decisions, id, cache.Decision{Identity: id, Kernel: name, Recipe: recipe}))
		}
		publish(t, s)
		ok(t, os.WriteFile(filepath.Join(p.dir, "apply.mk"), []byte("all:\n\t+@$(GNVCC) apply\n"), 0o644))
		args := [][]string{{"-j3"}, {}}[i]
		cmd := exec.Command("make", append(args, "-s", "-f", "apply.mk", "GNVCC="+gnvcc)...)
		cmd.Dir, cmd.Env = p.dir, p.env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("make: %v\n%s", err, out)
		}
		want := []string{"3 commands to run again, 1 at a time",
			fmt.Sprintf("3 commands to run again, %d at a time", min(3, runtime.GOMAXPROCS(0)))}[i]
		if !strings.Contains(string(out), want) {
			t.Errorf("make %q: no %q in\n%s", args, want, out)
		}
	}
}
