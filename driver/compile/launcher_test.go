package compile

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
)

// launched compiles two candidates below a launcher, "" for none, with nothing known of before, and
// gives their machine code.
func launched(t *testing.T, p *drivertest.Project, words ...string) (cubins [][]byte, c *Compiler) {
	t.Helper()
	for _, kind := range []string{"candidate", "code", "draft", "variant", "slice"} {
		if _, err := p.Store.ClearMemos(kind); err != nil {
			t.Fatal(err)
		}
	}
	c = New(p.Store, t.TempDir())
	if c.launcher = nil; words != nil {
		c.launcher = &launcher{words: words}
	}
	s, err := c.Kernel(p.Cubin("app", "sm_80"), "_Z5shownPii")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"maxnreg=40", "unroll=2"} {
		cand, err := c.Draft(context.Background(), s, drivertest.MustParse(t, text))
		if err != nil {
			t.Fatalf("%s below %q: %v", text, words, err)
		}
		b, err := os.ReadFile(cand.Path)
		if err != nil {
			t.Fatal(err)
		}
		cubins = append(cubins, b)
	}
	return cubins, c
}

func integers(t *testing.T) *drivertest.Project {
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": `
__global__ void shown(int *p, int n) { int s = 0; for (int i = threadIdx.x; i < n; i += 32) s ^= p[i] + i; p[threadIdx.x] = s; }
int main() { shown<<<1, 1>>>(0, 0); }
`})
	p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
	return p
}

func sameCubins(t *testing.T, what string, got, want [][]byte) {
	t.Helper()
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("%s: candidate %d has other machine code than without a launcher", what, i)
		}
	}
}

// TestLauncher: below a program that works, fails, hangs or gives rubbish, candidates are the same,
// and what it is given are names without folders, at the end of the line.
func TestLauncher(t *testing.T) {
	p := integers(t)
	want, _ := launched(t, p)
	dir := t.TempDir()
	program := func(name, script string) string {
		return drivertest.Program(t, filepath.Join(dir, name), "#!/bin/sh\n"+script)
	}
	calls := filepath.Join(dir, "calls")
	got, c := launched(t, p, program("works", `echo "$@" >>`+calls+"\nexec \"$@\"\n"))
	sameCubins(t, "works", got, want)
	text, _ := os.ReadFile(calls)
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		tool, rest, _ := strings.Cut(line, " ")
		seen[filepath.Base(tool)] = true
		wants := map[string]string{"ptxas": " in.ptx -o out.cubin\n", "cicc": " in.ii -o out.ptx\n"}
		if end := wants[filepath.Base(tool)]; end == "" || !strings.HasSuffix(line, end) ||
			strings.Contains(rest, c.dir) {
			t.Errorf("it was given %s", line)
		}
	}
	if !seen["ptxas"] || !seen["cicc"] {
		t.Errorf("below it were run only %v", seen)
	}
	if n, _ := c.Spent("ptxas"); n == 0 {
		t.Error("what is run below a launcher is not counted")
	}
	for name, script := range map[string]string{
		"fails":     "exit 1\n",
		"kills":     "kill -9 $$\n",
		"says":      "exit 0\n",
		"rubbish":   "for last; do :; done; echo rubbish >$last\n",
		"noise":     "\"$@\"; echo sccache: error >&2; exit 254\n",
		"is broken": "exec /nowhere/sccache \"$@\"\n",
	} {
		got, c := launched(t, p, program(name, script))
		sameCubins(t, name, got, want)
		if c.launcher.fails.Load() == 0 {
			t.Errorf("%s: nobody has noted that it is of no use", name)
		}
	}
	got, _ = launched(t, p, "/nowhere/sccache")
	sameCubins(t, "is not there", got, want)
}

// TestLauncherHangs: it is waited for once.
func TestLauncherHangs(t *testing.T) {
	p := integers(t)
	want, _ := launched(t, p)
	old := launchLimit
	launchLimit = 500 * time.Millisecond
	defer func() { launchLimit = old }()
	got, c := launched(t, p, drivertest.Program(t, filepath.Join(t.TempDir(), "hangs"),
		"#!/bin/sh\nsleep 100\n"))
	sameCubins(t, "hangs", got, want)
	if c.launcher.fails.Load() < launchedTries {
		t.Error("it would be waited for again")
	}
}

// TestSccache: the same machine code, and another store finds it without compiling; also when its
// server is killed.
func TestSccache(t *testing.T) {
	program := sccacheTool(t)
	stop := func() { _ = exec.Command(program, "--stop-server").Run() }
	p := integers(t)
	want, _ := launched(t, p)
	for _, turn := range []string{"first", "second"} {
		got, c := launched(t, p, program)
		sameCubins(t, turn, got, want)
		if n := c.launcher.fails.Load(); n > 0 {
			t.Errorf("%s turn: it failed %d times", turn, n)
		}
	}
	stats, err := exec.Command(program, "--show-stats").Output()
	if err != nil {
		t.Fatal(err)
	}
	hits := 0
	for line := range strings.Lines(string(stats)) {
		if strings.HasPrefix(line, "Cache hits (") {
			n := 0
			fmt.Sscan(line[strings.Index(line, ")")+1:], &n)
			hits += n
		}
	}
	if hits < 3 { // one cicc, two ptxas
		t.Errorf("%d runs were found again, want 3:\n%s", hits, stats)
	}
	stop()
	got, _ := launched(t, p, program)
	sameCubins(t, "after its server's end", got, want)
}

// TestLauncherNamed: it is for machines with few cores, unless the user says always.
func TestLauncherNamed(t *testing.T) {
	for text, want := range map[string]bool{"": false, "always:": false, "always:sh -c": true,
		"always:no-such-program": false} {
		if got := newLauncher(environment.Of([]string{"GNVCC_LAUNCHER=" + text})); (got != nil) != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for cores, want := range map[int]bool{2: true, 7: true, 8: false, 64: false} {
		if got := scarce(cores, 0); got != want {
			t.Errorf("%d cores: %v", cores, got)
		}
		if got := scarce(8*cores, 8); got != want {
			t.Errorf("%d cores for 8 GPUs: %v", 8*cores, got)
		}
	}
}
