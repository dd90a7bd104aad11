package profile

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/profile/agent"
)

// TestCallbackRefused: where CUPTI does not tell of a call, its memory would not be saved. The agent says so and is off. CUPTI is a fake in front
// of the real one, since the real one never refuses; the driver has the functions that the agent looks for, and no more.
func TestCallbackRefused(t *testing.T) {
	root := toolkit(t)
	dir := t.TempDir()
	path, err := agent.Build(context.Background(), root, dir)
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("agent/source")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"cuda.c": `#include "driver.h"
#define X(field, declaration, symbol, needed) int fake_##field(void) __asm__(symbol); int fake_##field(void) { return 0; }
DRIVER_FUNCTIONS(X)
`,
		"cupti.c": `#include <cupti.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *s, CUpti_CallbackFunc f, void *user) { return CUPTI_SUCCESS; }
CUptiResult cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle s, CUpti_CallbackDomain d, CUpti_CallbackId id) {
  const char *name = 0, *bad = getenv("BAD");
  char text[32];
  snprintf(text, sizeof text, "resource %d", (int)id);
  if (d == CUPTI_CB_DOMAIN_RESOURCE) name = text;
  else { // the agent's own library knows
    void *agent = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
    CUptiResult (*real)(CUpti_CallbackDomain, uint32_t, const char **) = (CUptiResult (*)(CUpti_CallbackDomain, uint32_t, const char **))dlsym(agent, "cuptiGetCallbackName");
    real(d, id, &name);
  }
  return name && bad && strcmp(name, bad) == 0 ? CUPTI_ERROR_INVALID_OPERATION : CUPTI_SUCCESS;
}
`,
		"app.c": `#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int n, char **argv) {
  void *driver = dlopen(argv[1], RTLD_NOW), *agent = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW);
  int (*start)(void) = agent ? (int (*)(void))dlsym(agent, "InitializeInjection") : 0;
  if (!start || !driver) return puts(dlerror()), 3;
  printf("%d\n", start());
  return 7;
}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	include := []string{"-I" + filepath.Join(root, "include"), "-I" + filepath.Join(root, "extras", "CUPTI", "include"), "-I" + here}
	for _, args := range [][]string{
		append([]string{"-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", "libcuda.so.1", "cuda.c"}, include...),
		append([]string{"-w", "-shared", "-fPIC", "-o", "cupti.so", "cupti.c", "-ldl"}, include...),
		{"-o", "app", "app.c", "-ldl"},
	} {
		cmd := exec.Command("gcc", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for bad, want := range map[string]string{
		"none": "", "cuMemAlloc_v2": "calls of cuMemAlloc_v2", "cuMemcpyHtoD_v2": "calls of cuMemcpyHtoD_v2", "resource 4": "modules, streams and contexts",
	} {
		h := &scripted{}
		env := []string{"BAD=" + bad, "LD_PRELOAD=" + filepath.Join(dir, "cupti.so")}
		r := play(t, "", h, Options{Argv: []string{filepath.Join(dir, "app"), filepath.Join(dir, "libcuda.so.1")}, Agent: path, Env: env})
		if r.err != nil || r.exit.Code != 7 || len(h.starts) != 1 {
			t.Fatalf("%s: %+v, %q", bad, r, h.events)
		}
		if got := h.starts[0].Trouble; (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: the agent says %q, want %q", bad, got, want)
		}
	}
}
