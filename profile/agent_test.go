package profile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The C agent's greeting over the real socket, without a GPU: with a libcuda.so.1 that has nothing
// in it, the agent has to say what is missing and be off; the application must not notice.
func TestOldDriver(t *testing.T) {
	path, dir := newFakeDriver(t).agent, t.TempDir()
	for name, text := range map[string]string{
		"none.c": `int nothing;`,
		"app.c": `
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int n, char **argv) {
  void *driver = n > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
  void *agent = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW);
  int (*start)(void) = agent ? (int (*)(void))dlsym(agent, "InitializeInjection") : 0;
  if (!start || (n > 1 && !driver)) return puts(dlerror()), 3;
  printf("%d\n", start());
  return 7;
}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o",
		"libcuda.so.1", "none.c"}, {"-o", "app", "app.c", "-ldl"}} {
		cmd := exec.Command("gcc", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, c := range []struct {
		argv []string
		want string
	}{
		{[]string{filepath.Join(dir, "app")}, "no libcuda.so.1"},
		{[]string{filepath.Join(dir, "app"), filepath.Join(dir, "libcuda.so.1")}, "no cuGetErrorString"},
	} {
		h := &scripted{}
		r := play(t, "", h, Options{Argv: c.argv, Agent: path})
		if r.err != nil || r.exit.Code != 7 || r.out != "1\n" {
			t.Fatalf("%+v", r)
		}
		if len(h.starts) != 1 || !strings.Contains(h.starts[0].Trouble, c.want) || len(h.sums) != 1 {
			t.Errorf("%+v, %q", h.starts[0], h.events)
		}
	}
}
