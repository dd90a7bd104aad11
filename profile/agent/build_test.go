package agent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// toolkits gives those to test with that have CUPTI for the agent; none is a loud skip.
func toolkits(t *testing.T) map[string]string {
	found := map[string]string{}
	for _, kit := range kits.All(t) {
		if _, err := Find(kit.Dir); err == nil {
			found[kit.Version] = kit.Dir
		}
	}
	if len(found) == 0 {
		kits.Need(t, "13.0") // skips
	}
	return found
}

// The agent compiles against each toolkit's headers without a warning, and is built only once.
func TestBuild(t *testing.T) {
	t.Setenv("GNVCC_STRICT", "1")
	for version, root := range toolkits(t) {
		t.Run(version, func(t *testing.T) {
			out := t.TempDir()
			path, err := Build(context.Background(), root, out)
			if err != nil {
				t.Fatal(err)
			}
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Build(context.Background(), root, out)
			if err != nil || again != path {
				t.Fatalf("second build: %s, %v; want %s", again, err, path)
			}
			after, _ := os.Stat(path)
			if !after.ModTime().Equal(before.ModTime()) {
				t.Error("the second build built it anew")
			}
			if left, _ := filepath.Glob(filepath.Join(out, ".agent-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			t.Run("harmless", func(t *testing.T) { harmless(t, path) })
		})
	}
}

// harmless: without a driver, or with nobody to talk to, the agent must be as good as not there.
func harmless(t *testing.T, path string) {
	dir := t.TempDir()
	program := filepath.Join(dir, "load.c")
	os.WriteFile(program, []byte(`
#include <dlfcn.h>
#include <stdio.h>
int main(int n, char **argv) {
  void *lib = dlopen(argv[1], RTLD_NOW);
  int (*start)(void) = lib ? (int (*)(void))dlsym(lib, "InitializeInjection") : 0;
  if (!start) return puts(dlerror()), 3;
  printf("%d %d\n", start(), start());
  return 0;
}`), 0o600)
	if out, err := exec.Command("gcc", "-o", filepath.Join(dir, "load"), program,
		"-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, socket := range []string{"", "GNVCC_AGENT_SOCKET=/nonexistent/socket",
		"GNVCC_AGENT_SOCKET=" + strings.Repeat("x", 300)} {
		cmd := exec.Command(filepath.Join(dir, "load"), path)
		cmd.Env = append(os.Environ(), socket)
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != "1 1\n" {
			t.Errorf("%q: %v\n%s", socket, err, out)
		}
	}
}

func TestNoCUPTI(t *testing.T) {
	_, err := Build(context.Background(), t.TempDir(), t.TempDir())
	if !errors.Is(err, errNoCUPTI) || !strings.Contains(err.Error(), "cupti.h") {
		t.Errorf("%v", err)
	}
}

func TestCompilerRefuses(t *testing.T) {
	t.Setenv("CC", "false")
	for _, root := range toolkits(t) {
		out := t.TempDir()
		if _, err := Build(context.Background(), root, out); err == nil || !strings.Contains(err.Error(),
			"building the agent with false") {
			t.Errorf("%v", err)
		}
		if left, _ := os.ReadDir(out); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// The PTX files are what their sources give, and every GPU's ptxas takes them.
func TestPTX(t *testing.T) {
	for version, root := range toolkits(t) {
		for _, name := range []string{"compare", "hash"} {
			architectures := []string{"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}
			if version < "12.8" { // the first that knows Blackwell
				architectures = architectures[:3]
			}
			for _, arch := range architectures {
				out, err := exec.Command(filepath.Join(root, "bin", "ptxas"), "-arch="+arch, "source/"+name+
					".ptx", "-o", filepath.Join(t.TempDir(), "x")).CombinedOutput()
				if err != nil {
					t.Errorf("%s.ptx, ptxas %s, %s: %v\n%s", name, version, arch, err, out)
				}
			}
			if version == "13.0" { // the release that made them
				madeAnew(t, root, name)
			}
		}
	}
}

func madeAnew(t *testing.T, root, name string) {
	dir := t.TempDir()
	for _, file := range []string{"Makefile", name + ".cu"} {
		text, err := os.ReadFile(filepath.Join("source", file))
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(dir, file), text, 0o600)
	}
	make := exec.Command("make", "-s", name+".ptx", "NVCC="+filepath.Join(root, "bin", "nvcc"))
	make.Dir = dir
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, _ := os.ReadFile(filepath.Join(dir, name+".ptx"))
	have, _ := os.ReadFile("source/" + name + ".ptx")
	if string(want) != string(have) {
		t.Errorf("%s.ptx is not what %s.cu gives: run make %s.ptx", name, name, name)
	}
}
