package replay

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a variation is for shows in its numbers: full mantissas, the same ones each time, zeros,
// subnormals, infinities, one NaN; permuted numbers are those that were there.
func TestVary(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("SKIPPED, NOT TESTED: no gcc")
	}
	dir := t.TempDir()
	program := `#include "vary.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#define N 65536
#define COUNT(type, vary, tiny, nan_ok) do { static type a[N], b[N]; for (unsigned v = 1; v <= 11; v++) { \
  int nans = 0, other = 0, infs = 0, zeros = 0, subs = 0, odd = 0; double sum = 0; \
  for (int i = 0; i < N; i++) a[i] = b[i] = (type)i; \
  vary((uint8_t *)a, N, v, 4096); vary((uint8_t *)b, N, v, 4096); \
  if (memcmp(a, b, sizeof a)) return printf("variation %u differs from itself\n", v), 1; \
  for (int i = 0; i < N; i++) { if (isnan(a[i])) { nans++; other += memcmp(&a[i], nan_ok, sizeof(type)) != 0; continue; } \
    if (isinf(a[i])) { infs++; continue; } zeros += a[i] == 0; subs += a[i] != 0 && fabs(a[i]) < tiny; odd += a[i] != 0 && *(uint8_t *)&a[i] & 1; sum += a[i]; } \
  printf("%s %u nan%d inf%d zero%d sub%d turned%d odd%d other%d\n", #type, v, nans > 0, infs > 0, zeros > N / 4, subs > N / 20, sum == (double)N * (N - 1) / 2, odd > N / 8, other); } } while (0)
#define COUNT16(name, vary, bits, top) for (unsigned v = 1; v <= 11; v++) { static uint16_t a[N]; \
  int nans = 0, other = 0, infs = 0, zeros = 0, subs = 0, odd = 0; uint64_t sum = 0; \
  for (int i = 0; i < N; i++) sum -= a[i] = (uint16_t)(0x2000 + i % 0x2000); \
  vary((uint8_t *)a, N, v, 4096); \
  for (int i = 0; i < N; i++) { int e = a[i] >> bits & top, m = a[i] & ((1 << bits) - 1); \
    nans += e == top && m; other += e == top && m && a[i] != 0x7fff; infs += e == top && !m; zeros += !e && !m; subs += !e && m; odd += m & 1; sum += a[i]; } \
  printf("%s %u nan%d inf%d zero%d sub%d turned%d odd%d other%d\n", name, v, nans > 0, infs > 0, zeros > N / 4, subs > N / 20, sum == 0, odd > N / 8, other > 0); }
int main(void) { COUNT16("half", vary_halves, 10, 31) COUNT16("bfloat16", vary_bfloat16s, 7, 255) unsigned f = 0x7fffffff; unsigned long long d = 0x7ff8000000000000ull; COUNT(float, vary_floats, 1.1754943e-38, &f); COUNT(double, vary_doubles, 2.2250738585072014e-308, &d);
  float x = -0.25f, zero = 0; double y = 3e300;
  for (unsigned v = 1; v <= 3; v++) { vary_scalar((uint8_t *)&x, false, v, 8); vary_scalar((uint8_t *)&y, true, v, 12); vary_scalar((uint8_t *)&zero, false, v, 8);
    printf("scalars %u kept%d near%d zero%d\n", v, x == -0.25f && y == 3e300, x <= -0.25f && x > -0.5f && y > 1e300 && y < 7e300, zero == 0); }
  for (unsigned v = 1; v <= 10; v++) { static float a[N]; static int k[N]; int moved = 0, cut = 0, same = 0, most = 0, least = 0; double sum = 0;
    for (int i = 0; i < N; i++) a[i] = (float)i, k[i] = i;
    vary_near((uint8_t *)a, N, false, v, 8); vary_integers((uint8_t *)k, N, 4, v, 8);
    for (int i = 0; i < N; i++) moved += a[i] != i, cut += (int)a[i] == i, same += k[i] == i, sum += k[i], most = k[i] > most ? k[i] : most, least = k[i] < least ? k[i] : least;
    printf("near %u moved%d cut%d; integers same%d turned%d small%d negative%d\n", v, moved > N / 2, cut == N, same > N / 2, sum == (double)N * (N - 1) / 2, most < 1024, least < 0); }
  return 0; }
`
	if err := os.WriteFile(filepath.Join(dir, "main.c"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gcc", "-O2", "-Isource", "-o", filepath.Join(dir, "vary"),
		filepath.Join(dir, "main.c"), "source/vary.c", "-lm").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err = exec.Command(filepath.Join(dir, "vary")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"scalars 1 kept1 near1 zero1\n", "scalars 2 kept0 near1 zero1\n",
		"scalars 3 kept0 near0 zero0\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	for v := 1; v <= 10; v++ {
		want := fmt.Sprintf("near %d moved1 cut1; integers same0 turned0 small%d negative%d\n", v, flag(v != 3), flag(v == 5))
		if v == 2 {
			want = "near 2 moved1 cut0; integers same0 turned1 small0 negative0\n"
		}
		if !strings.Contains(string(out), want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	for _, kind := range []string{"float", "double", "half", "bfloat16"} {
		for n, want := range map[string]string{
			"1": "nan0 inf0 zero0 sub0 turned0 odd1 other0", "2": "nan0 inf0 zero0 sub0 turned1 odd0 other0",
			"3": "nan0 inf0 zero0 sub0 turned0 odd1 other0",
			"4": "nan0 inf0 zero1 sub0 turned0 odd1 other0", "5": "nan0 inf0 zero0 sub0 turned0 odd1 other0",
			"6": "nan0 inf0 zero0 sub1 turned0 odd1 other0",
			"7": "nan0 inf0 zero0 sub0 turned0 odd0 other0", "8": "nan0 inf0 zero0 sub0 turned0 odd0 other0",
			"9": "nan0 inf1 zero0 sub0 turned0 odd1 other0", "10": "nan1 inf0 zero0 sub0 turned0 odd1 other0",
			"11": "nan0 inf0 zero0 sub0 turned0 odd1 other0",
		} {
			if n == "2" && (kind == "half" || kind == "bfloat16") {
				want = "nan0 inf0 zero0 sub0 turned1 odd1 other0"
			}
			if line := kind + " " + n + " " + want; !strings.Contains(string(out), line+"\n") {
				t.Errorf("want %q in\n%s", line, out)
			}
		}
	}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
