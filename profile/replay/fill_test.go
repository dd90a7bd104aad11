package replay

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gnvcc/install/kits"
)

// What a variation fills memory with: numbers get others to the last one, also behind the first 32
// MiB, the same ones each time; what is no number is as captured; numbers that change places are
// those that were there.
func TestFill(t *testing.T) {
	kit := kits.Any(t)
	dir := t.TempDir()
	program := `#include "replay.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct driver cu;
static int failed;
#define CHECK(x) do { if (!(x)) { printf("line %d: variation %u: %s\n", __LINE__, v, #x); failed = 1; } } while (0)
void stop(int code, const char *format, ...) { va_list a; va_start(a, format); vprintf(format, a); exit(code); }
void need(CUresult r, const char *doing) { if (r) stop(9, "%s", doing); }
void textures_fill(const struct capture *c, unsigned v) {}
static CUresult htod(CUdeviceptr to, const void *p, size_t n) { memcpy((void *)to, p, n); return CUDA_SUCCESS; }
static CUresult dtoh(void *to, CUdeviceptr p, size_t n) { memcpy(to, (void *)p, n); return CUDA_SUCCESS; }
static CUresult dtod(CUdeviceptr to, CUdeviceptr p, size_t n) { memcpy((void *)to, (void *)p, n); return CUDA_SUCCESS; }
static CUresult set(CUdeviceptr p, unsigned char v, size_t n) { memset((void *)p, v, n); return CUDA_SUCCESS; }
static CUresult idle(void) { return CUDA_SUCCESS; }
#define MIB ((uint64_t)1 << 20)
enum { N = 5 };
static uint64_t sizes[N] = {70 * MIB + 4, 3 * MIB, 1000, 40 * MIB, 33 * MIB + 3};
int main(void) {
  cu.MemcpyHtoD = htod, cu.MemcpyDtoD = dtod, cu.MemcpyDtoH = dtoh, cu.MemsetD8 = set, cu.CtxSynchronize = idle;
  struct range r[N] = {{.size = sizes[0], .numbers = FLOATS}, {.size = sizes[1]}, {.size = sizes[2], .numbers = DOUBLES, .on_host = true}, {.size = sizes[3], .numbers = FLOATS}, {.size = sizes[4], .numbers = BYTES}};
  struct data d[200];
  struct capture c = {.range = r, .ranges = N, .data = d};
  uint64_t all = 0, at = 0;
  for (int i = 0; i < N; i++) all += sizes[i] + 4096;
  uint8_t *base = malloc(all), *first = malloc(all);
  for (int i = 0; i < N; i++) r[i].base = (uint64_t)base + at, at += (sizes[i] + 4095) / 4096 * 4096;
  for (int i = 0; i < 3; i++) // the last ranges are zero
    for (uint64_t k = 0; k < sizes[i]; k += MIB) {
      uint64_t n = sizes[i] - k < MIB ? sizes[i] - k : MIB;
      float *p = malloc(n);
      for (uint64_t j = 0; j < n / 4; j++) p[j] = (float)(j % 1000 + 1);
      d[c.datas++] = (struct data){r[i].base + k, n, (void *)p};
    }
  // an array among others, and tables: one of numbers, one that is none
  struct range part = {.base = r[1].base + MIB + 8, .size = MIB / 2, .numbers = FLOATS};
  static float table[64], were[64];
  static int places[64], places_were[64];
  for (int i = 0; i < 64; i++) were[i] = 1, places_were[i] = i;
  struct variable x[2] = {{.size = sizeof table, .p = (void *)were, .address = (CUdeviceptr)table, .numbers = FLOATS}, {.size = sizeof places, .p = (void *)places_were, .address = (CUdeviceptr)places}};
  c.part = &part, c.parts = 1, c.variable = x, c.variables = 2;
  for (unsigned v = 0; v <= 10; v++) {
    memset(base, 0x55, all);
    memory_fill(&c, v);
    memcpy(first, base, all);
    memset(base, 0xaa, all);
    memory_fill(&c, v);
    for (int i = 0; i < N; i++) CHECK(memcmp((void *)r[i].base, first + (r[i].base - (uint64_t)base), sizes[i]) == 0);
    CHECK(memcmp((void *)r[1].base, d[71].p, 3) == 0 && memcmp((void *)(r[1].base + 2 * MIB), d[73].p, MIB) == 0);
    uint64_t moved = 0;
    for (uint64_t j = 0; j < part.size / 4; j++) moved += memcmp((float *)part.base + j, d[72].p + 8 + 4 * j, 4) != 0;
    CHECK(v == 0 ? moved == 0 : moved > part.size / 4 / 2);
    CHECK(memcmp((void *)(r[1].base + MIB), d[72].p, 8) == 0 && memcmp((void *)(part.base + part.size), d[72].p + 8 + part.size, 64) == 0);
    CHECK((memcmp(table, were, sizeof were) == 0) == (v == 0 || v == 2) && memcmp(places, places_were, sizeof places) == 0); // equal ones change places
    uint32_t *a = (void *)r[0].base, *z = (void *)r[3].base;
    bool captured = v == 0;
    uint64_t none = 0;
    for (uint64_t j = 0; j < sizes[4]; j++) none += ((uint8_t *)r[4].base)[j] == 0;
    CHECK(captured ? none == sizes[4] : none < sizes[4] / 128); // one byte in 256 is 0
    uint64_t same = 0, zeros = 0;
    for (uint64_t j = 0; j < sizes[0] / 4; j++) { float f = (float)(j % (MIB / 4) % 1000 + 1); same += memcmp(&f, a + j, 4) == 0; }
    for (uint64_t j = 0; j < sizes[3] / 4; j++) zeros += z[j] == 0;
    if (captured) CHECK(same == sizes[0] / 4 && zeros == sizes[3] / 4);
    else if (v == 2) CHECK(same < sizes[0] / 4 / 4 && zeros == sizes[3] / 4);
    else CHECK(same < (v == 7 || v == 8 ? sizes[0] / 4 / 1000 : 1000) && zeros < sizes[3] / 4 * 2 / 3 && a[sizes[0] / 4 - 1] != 0x55555555 && a[sizes[0] / 4 - 1] != 0xaaaaaaaa);
    if (v == 2) {
      double sum = 0, want = 0;
      for (uint64_t j = 0; j < MIB / 4; j++) { float f; memcpy(&f, a + j, 4); sum += f, want += (double)(j % 1000 + 1); }
      CHECK(sum == want);
    }
  }
  return failed;
}
`
	if err := os.WriteFile(filepath.Join(dir, "main.c"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(context.Background(), "gcc", "-std=gnu11", "-O2", "-Wall",
		"-Isource", "-I../agent/source", "-I"+filepath.Join(kit.Dir, "include"),
		"-o", filepath.Join(dir, "fill"), filepath.Join(dir, "main.c"), "source/memory.c",
		"source/vary.c", "-ldl", "-lpthread").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err = exec.Command(filepath.Join(dir, "fill")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
