package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestModuleLocks: a module's handle is set, and looked for by other threads, under one lock.
// Threads do both, in the module's own file, and the compiler's thread sanitizer looks on.
func TestModuleLocks(t *testing.T) {
	for version, root := range toolkits(t) {
		cupti, err := Find(root)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		here, err := filepath.Abs("source")
		if err != nil {
			t.Fatal(err)
		}
		main := `#include "agent.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static atomic_bool over;
static const char cubin[] = "a cubin with .text.k in it";
static void *loads(void *p) {
  for (int i = 0; i < 200; i++) {
    module_loaded((CUcontext)1, (uint32_t)i, cubin, sizeof cubin);
    module_bind((CUcontext)1, (CUmodule)(uintptr_t)(i + 2));
    usleep(100); // the others look just now
    module_unloading((CUcontext)1, (uint32_t)i);
  }
  over = true;
  return p;
}
static void *looks(void *p) {
  while (!over) {
    struct module *m = module_of((CUcontext)1, (CUmodule)2, "k");
    if (m) module_gone(m);
  }
  return p;
}
void kernels_drop(CUcontext c, struct module *m) {}
bool frame_send(enum frame type, const struct buffer *b) { return true; }
void put_u32(struct buffer *b, uint32_t v) {}
void put_bytes(struct buffer *b, const void *p, size_t n) {}
void buffer_free(struct buffer *b) {}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, loads, NULL);
  pthread_create(&b, NULL, looks, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  puts("done");
  return 0;
}
`
		if err := os.WriteFile(filepath.Join(dir, "main.c"), []byte(main), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"-std=gnu11", "-g", "-O1", "-w", "-fsanitize=thread", "-I" + here, "-o", "locks",
			"main.c", filepath.Join(here, "module.c"), "-lpthread"}
		for _, include := range cupti.Include {
			args = append(args, "-I"+include)
		}
		build := exec.Command("gcc", args...)
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: no thread sanitizer here: the lock of a module's handle was not tried: %s",
				out)
		}
		// Addresses as the sanitizer wants them.
		run := exec.Command("setarch", "-R", filepath.Join(dir, "locks"))
		out, err := run.CombinedOutput()
		if strings.Contains(string(out), "unexpected memory mapping") || err != nil &&
			!strings.Contains(string(out), "ThreadSanitizer: data race") && !strings.Contains(string(out),
			"done") {
			t.Skipf("SKIPPED: the thread sanitizer does not run here: %v\n%s", err, out)
		}
		if err != nil || strings.Contains(string(out), "data race") || !strings.Contains(string(out),
			"done") {
			t.Errorf("%s: %v\n%s", version, err, out)
		}
		return // one toolkit's headers are enough
	}
}
