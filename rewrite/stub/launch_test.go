package stub

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gnvcc/rewrite/manner"
)

// What a patched stub does, under a CUDA runtime that is made of a few lines: every call is written
// down, and what the runtime answers can be chosen.
const runtime = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
struct dim3 { unsigned x, y, z; };
typedef void *cudaStream_t;
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize, cudaFuncAttributePreferredSharedMemoryCarveout };
struct cudaFuncAttributes { int maxDynamicSharedSizeBytes, preferredShmemCarveout, binaryVersion, WIDTH; };
static int answer(const char *what, int otherwise) { const char *s = getenv(what); return s ? atoi(s) : otherwise; }
#ifndef EACH
#define EACH
#endif
static EACH int pending = answer("PENDING", 0), number, loaded;
static EACH dim3 grid, block; static EACH size_t dynamic; static EACH cudaStream_t stream;
static cudaError_t cudaPeekAtLastError() { return (cudaError_t)pending; }
static cudaError_t cudaGetLastError() { int e = pending; pending = 0; return (cudaError_t)e; }
static cudaError_t CAPTURE(cudaStream_t, cudaStreamCaptureStatus *s) {
  if (answer("CAPTURING", 0) > 1) { pending = 906; return cudaErrorInvalidValue; }
  *s = (cudaStreamCaptureStatus)answer("CAPTURING", 0); return cudaSuccess; }
static cudaError_t cudaGetDevice(int *d) { if (!d) { pending = 1; return cudaErrorInvalidValue; } *d = 0; return cudaSuccess; }
static void k(int *) {}
static int cluster = answer("CLUSTER", 0), allowed = answer("ALLOWED", 49152);
static cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *f) {
  if (f != (const void *)k && !loaded) { loaded = 1; if (answer("LAZY", 0)) printf("load "); }
  if (f != (const void *)k && answer("MISSING", 0)) { pending = 98; return cudaErrorInvalidValue; }
  a->maxDynamicSharedSizeBytes = 49152; a->preferredShmemCarveout = -1; a->binaryVersion = answer("BINARY", 90);
  a->WIDTH = 0;
  if (f == (const void *)k) { a->WIDTH = cluster; a->preferredShmemCarveout = answer("CARVEOUT", -1); a->maxDynamicSharedSizeBytes = allowed; }
  return cudaSuccess;
}
static cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute a, int v) {
  if (answer("NOSET", 0)) { pending = 5; return cudaErrorInvalidValue; }
  pending = 0; // as with the real one
  printf("%s=%d ", a == cudaFuncAttributePreferredSharedMemoryCarveout ? "carveout" : "dynamic", v); return cudaSuccess; }
static cudaError_t __cudaPopCallConfiguration(dim3 *g, dim3 *b, size_t *s, void *q) { *g = grid; *b = block; *s = dynamic; *(cudaStream_t *)q = stream; return cudaSuccess; }
static unsigned __cudaPushCallConfiguration(dim3 g, dim3 b, size_t s, cudaStream_t) { return g.x == grid.x && b.x == block.x && s == dynamic ? 0 : (puts("another configuration"), 1); }
static cudaError_t cudaLaunchKernel(const void *, dim3, dim3 b, void **, size_t s, cudaStream_t) {
  number++;
  if (answer("FAIL", 0)) { pending = 701; printf("refused "); return cudaErrorInvalidValue; }
  printf("second(%u,%zu) ", b.x, s); return cudaSuccess; }
#define __cudaLaunchPrologue(n) void *__args_arr[n]; int __args_idx = 0
#define __cudaSetupArgSimple(a, o) __args_arr[__args_idx++] = (void *)&a
#define __cudaLaunch(f, t) printf("plain(%u,%zu)%s ", block.x, dynamic, pending ? " with an error" : ""); if (answer("FAIL", 0) > 1) pending = 9
#define __cudaRegisterEntry(h, f, name, t) (void)name
static int _Z1kPi, second;
`

var throttled = manner.Manner{Reserve: manner.Reserve{On: true, Dynamic: 60000, Carveout: 43,
	Binary: 90}}

func TestThrottledLaunches(t *testing.T) {
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("SKIPPED: no g++ here")
	}
	at := 1024
	program := func(c Choice) string {
		c.Entry, c.Second, c.Block = "_Z1kPi", "second", [3]int{64, 1, 1}
		out, refused := Patch([]byte(stubText), []Choice{c})
		if len(refused) > 0 {
			t.Fatal(refused)
		}
		return runtime + strings.NewReplacer("#include \"crt/host_runtime.h\"", "",
			"#include \"a.fatbin.c\"", "").Replace(string(out)) + `
int main(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    // the user sets an attribute of his kernel meanwhile
    if (atoi(argv[i]) == 0) { atoi(argv[i + 1]) < 8 ? cluster = atoi(argv[i + 1]) : allowed = atoi(argv[i + 1]); continue; }
    grid = {7, 1, 1}; block = {(unsigned)atoi(argv[i]), 1, 1}; dynamic = atoi(argv[i + 1]);
    __device_stub__Z1kPi(0);
  }
  if (pending) printf("left %d", pending);
}
`
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "m.cc"), program(Choice{Dynamic: &at, Manner: throttled}))
	// a default stream for each thread has the latter only
	for _, name := range []string{"cudaStreamIsCapturing", "cudaStreamIsCapturing_ptsz"} {
		for _, dialect := range []string{"c++98", "c++17"} {
			run(t, dir, compiler, "-w", "-std=gnu"+strings.TrimPrefix(dialect, "c"), "-DCAPTURE="+name,
				"-DWIDTH=requiredClusterWidth", "-o", "m", "m.cc")
			launches(t, filepath.Join(dir, "m"))
		}
	}
	run(t, dir, compiler, "-w", "-DCAPTURE=anything", "-DcudaStreamIsCapturing=anything",
		"-DWIDTH=requiredClusterWidth", "-o", "m", "m.cc")
	launches(t, filepath.Join(dir, "m"))
	// A kernel that works in clusters is looked at before each launch.
	write(t, filepath.Join(dir, "c.cc"), program(Choice{Clusters: true}))
	run(t, dir, compiler, "-w", "-DCAPTURE=cudaStreamIsCapturing", "-DWIDTH=requiredClusterWidth", "-o", "c",
		"c.cc")
	got, err := exec.Command(filepath.Join(dir, "c"), strings.Fields("64 0 0 2 64 0 0 0 64 0")...).Output()
	if err != nil || string(got) != "second(64,0) plain(64,0) second(64,0) " {
		t.Errorf("clusters asked for between launches: %v %s", err, got)
	}
	// 11.8's attributes have no clusters
	run(t, dir, compiler, "-w", "-DCAPTURE=cudaStreamIsCapturing", "-DWIDTH=none", "-o", "m", "m.cc")
}

// TestThreads: several threads launch a kernel for the first time at once, and ThreadSanitizer finds
// no race.
func TestThreads(t *testing.T) {
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("SKIPPED: no g++ here")
	}
	at := 1024
	out, refused := Patch([]byte(stubText), []Choice{{Entry: "_Z1kPi", Second: "second", Block: [3]int{64, 1, 1},
		Dynamic: &at, Manner: throttled}})
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "m.cc"), "#include <pthread.h>\n"+runtime+strings.NewReplacer("#include \"crt/host_runtime.h\"", "",
		"#include \"a.fatbin.c\"", "").Replace(string(out))+`
static void *launch(void *) {
  grid = {7, 1, 1}; block = {64, 1, 1}; dynamic = 1024;
  for (int i = 0; i < 1000; i++) __device_stub__Z1kPi(0);
  return 0;
}
int main() {
  pthread_t t[8];
  for (int i = 0; i < 8; i++) pthread_create(&t[i], 0, launch, 0);
  for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
}
`)
	run(t, dir, compiler, "-w", "-O1", "-g", "-fsanitize=thread", "-DEACH=thread_local", "-DCAPTURE=cudaStreamIsCapturing",
		"-DWIDTH=requiredClusterWidth", "-o", "m", "m.cc")
	cmd := exec.Command(filepath.Join(dir, "m"))
	var errors strings.Builder
	cmd.Stderr = &errors
	if out, err := cmd.Output(); err != nil || strings.Count(string(out), "second(64,61024)") != 8000 {
		t.Errorf("%v, %d launches, %s", err, strings.Count(string(out), "second"), errors.String())
	}
}

// launches runs the program.
func launches(t *testing.T, program string) {
	t.Helper()
	for _, c := range []struct{ environment, launches, want string }{
		{"", "64 1024 64 1024", "dynamic=61024 carveout=43 second(64,61024) second(64,61024)"},
		// other launches
		{"", "64 0 32 1024 64 1025", "plain(64,0) plain(32,1024) plain(64,1025)"},
		// with the plain kernel's first launch
		{"LAZY=1", "32 1024 64 1024", "load plain(32,1024) dynamic=61024 carveout=43 second(64,61024)"},
		{"FAIL=1", "64 1024 64 1024",
			"dynamic=61024 carveout=43 refused plain(64,1024) refused plain(64,1024)"},
		// not allowed so much
		{"NOSET=1", "64 1024", "plain(64,1024)"},
		// the user has chosen one
		{"CARVEOUT=50", "64 1024", "plain(64,1024)"},
		// made for another architecture
		{"BINARY=80", "64 1024", "plain(64,1024)"},
		// the user has asked for clusters
		{"CLUSTER=2", "64 1024", "plain(64,1024)"},
		// and asks for them, and for none, between launches
		{"", "64 1024 0 2 64 1024 0 0 64 1024", "dynamic=61024 carveout=43 second(64,61024) plain(64,1024) second(64,61024)"},
		{"CLUSTER=2", "64 1024 0 0 64 1024", "plain(64,1024) dynamic=61024 carveout=43 second(64,61024)"},
		// the user's own launch must fail as ever
		{"", "64 1024 0 512 64 1024 0 4096 64 1024",
			"dynamic=61024 carveout=43 second(64,61024) plain(64,1024) second(64,61024)"},
		{"ALLOWED=512", "64 1024", "plain(64,1024)"},
		{"CAPTURING=1", "64 1024", "plain(64,1024)"},
		// an error of the user's is pending, and stays so whichever call of ours fails
		{"PENDING=1", "64 1024 64 1024",
			"dynamic=61024 carveout=43 second(64,61024) second(64,61024) left 1"},
		{"PENDING=1 MISSING=1", "64 1024", "plain(64,1024) with an error left 1"},
		{"PENDING=1 NOSET=1", "64 1024", "plain(64,1024) with an error left 1"},
		{"PENDING=1 BINARY=80", "64 1024", "plain(64,1024) with an error left 1"},
		{"PENDING=1 CAPTURING=2", "64 1024", "plain(64,1024) with an error left 1"},
		{"PENDING=1 FAIL=1", "64 1024",
			"dynamic=61024 carveout=43 refused plain(64,1024) with an error left 1"},
		// his launch fails, too: he sees that
		{"PENDING=1 FAIL=2", "64 1024",
			"dynamic=61024 carveout=43 refused plain(64,1024) with an error left 9"},
		// an error of a kind that nothing makes again
		{"PENDING=600", "64 1024", "plain(64,1024) with an error left 600"},
		{"PENDING=600 FAIL=1 MISSING=1", "64 1024", "plain(64,1024) with an error left 600"},
		// what he allowed stays allowed
		{"ALLOWED=100000", "64 1024", "dynamic=100000 carveout=43 second(64,61024)"},
	} {
		cmd := exec.Command(program, strings.Fields(c.launches)...)
		cmd.Env = strings.Fields(c.environment)
		got, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(got)) != c.want {
			t.Errorf("%s, launches %s: %v %s\nwant %s", c.environment, c.launches, err, got, c.want)
		}
	}
}

// TestNames: a macro that the user gives to the host compiler (-Xcompiler -Dstate=1) meets no name
// of ours: all are reserved ones, C++'s, or CUDA's.
func TestNames(t *testing.T) {
	at := 1024
	out, refused := Patch([]byte(stubText), []Choice{{Entry: "_Z1kPi", Second: "second",
		Block: [3]int{64, 1, 1}, Grid: [3]int{2, 2, 2}, Dynamic: &at,
		Args: []Arg{{Bytes: []byte{1}}}, Align: []Align{{Bytes: 16}},
		Manner: manner.Manner{Block: [3]int{32, 1, 1}, Reserve: throttled.Reserve}}})
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	known := map[string]bool{"maxDynamicSharedSizeBytes": true, "preferredShmemCarveout": true,
		"binaryVersion": true, "requiredClusterWidth": true, "template": true, "dim3": true, "size_t": true, "x": true, "y": true, "z": true,
		"second": true, // the entry
		"clang":  true} // in a pragma that clang alone reads
	for _, w := range strings.Fields("struct namespace static signed unsigned char int long bool void " +
		"const return if else sizeof true false define ifdef endif pragma class GCC diagnostic push pop ignored") {
		known[w] = true
	}
	for _, w := range regexp.MustCompile(`"[^"]*"|\b[A-Za-z_]\w*`).FindAllString(string(out), -1) {
		if !known[w] && !strings.HasPrefix(w, "__") && !strings.HasPrefix(w, "cuda") &&
			!strings.HasPrefix(w, `"`) && !strings.Contains(stubText, w) {
			t.Errorf("%s is a name that the user may have made a macro", w)
		}
	}
}
