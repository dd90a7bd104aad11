package stub

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/rewrite/manner"
)

const stubText = "#include \"crt/host_runtime.h\"\n#include \"a.fatbin.c\"\n" +
	"static void __device_stub__Z1kPi(int *__par0){__cudaLaunchPrologue(1);__cudaSetupArgSimple(__par0, 0UL);__cudaLaunch(((char *)((void ( *)(int *))k)), 0U);}\n" +
	"void r(void **__T0) { __cudaRegisterEntry(__T0, ((void ( *)(int *))k), _Z1kPi, (-1)); }\n"

// A shapedLaunch is a launch of a program with a changed stub, with variables of its environment:
// the grid, the block, and dynamic shared memory, and what comes of it.
type shapedLaunch struct{ environment, launch, want string }

// shapedLaunches does them with a stub that has one choice.
func shapedLaunches(t *testing.T, choice Choice, list []shapedLaunch) {
	t.Helper()
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("SKIPPED: no g++ here")
	}
	choice.Entry, choice.Second = "_Z1kPi", "second"
	out, refused := Patch([]byte(stubText), []Choice{choice})
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	// The runtime of launch_test.go, which tells grids and blocks in full.
	here := strings.NewReplacer(
		`cudaLaunchKernel(const void *, dim3, dim3 b, void **, size_t s, cudaStream_t) {`,
		`cudaLaunchKernel(const void *, dim3 g, dim3 b, void **, size_t s, cudaStream_t) {`,
		`printf("second(%u,%zu) ", b.x, s)`,
		`printf("second(%u,%u,%u %u,%u,%u %zu) ", g.x, g.y, g.z, b.x, b.y, b.z, s)`,
		`printf("plain(%u,%zu)%s ", block.x, dynamic, pending ? " with an error" : "")`,
		`printf("plain(%u,%u,%u %u,%u,%u)%s ", grid.x, grid.y, grid.z, block.x, block.y, block.z, pending ? " with an error" : "")`,
	).Replace(runtime)
	program := here + strings.NewReplacer("#include \"crt/host_runtime.h\"", "",
		"#include \"a.fatbin.c\"", "").Replace(string(out)) + `
int main(int argc, char **argv) {
  grid = {(unsigned)atoll(argv[1]), (unsigned)atoll(argv[2]), (unsigned)atoll(argv[3])};
  block = {(unsigned)atoi(argv[4]), (unsigned)atoi(argv[5]), (unsigned)atoi(argv[6])};
  dynamic = argc > 7 ? atoi(argv[7]) : 0;
  __device_stub__Z1kPi(0);
}
`
	dir := t.TempDir()
	write(t, filepath.Join(dir, "m.cc"), program)
	run(t, dir, compiler, "-w", "-std=gnu++98", "-DCAPTURE=cudaStreamIsCapturing", "-DWIDTH=requiredClusterWidth",
		"-fsanitize=undefined", "-o", "m98", "m.cc")
	run(t, dir, compiler, "-w", "-std=gnu++17", "-DCAPTURE=cudaStreamIsCapturing",
		"-DWIDTH=requiredClusterWidth", "-o", "m", "m.cc")
	for _, c := range list {
		for _, name := range []string{"m", "m98"} {
			cmd := exec.Command(filepath.Join(dir, name), strings.Fields(c.launch)...)
			cmd.Env = []string{c.environment}
			got, err := cmd.CombinedOutput()
			if err != nil || strings.TrimSpace(string(got)) != c.want {
				t.Errorf("%s %s, launch %s: %v %s\nwant %s", name, c.environment, c.launch, err, got, c.want)
			}
		}
	}
}

// TestShapedLaunches: a second entry in blocks of another size, and the launches that keep the
// kernel itself in their own.
func TestShapedLaunches(t *testing.T) {
	at := 0
	shapedLaunches(t, Choice{Block: [3]int{16, 16, 2},
		Manner: manner.Manner{Block: [3]int{48, 8, 1}}, Dynamic: &at}, []shapedLaunch{
		{"", "3 5 7 16 16 2", "second(1,10,14 48,8,1 0)"},
		{"", "6 1 1 16 16 2", "second(2,2,2 48,8,1 0)"},
		{"", "4 5 7 16 16 2", "plain(4,5,7 16,16,2)"}, // 64 threads, blocks of 48
		{"", "3 5 7 16 16 1", "plain(3,5,7 16,16,1)"}, // another block
		{"", "3 5 7 48 8 1", "plain(3,5,7 48,8,1)"},   //
		// dynamic shared memory that was not seen
		{"", "3 5 7 16 16 2 64", "plain(3,5,7 16,16,2)"},
		{"", "0 5 7 16 16 2", "plain(0,5,7 16,16,2)"},                  // fails, as ever
		{"", "3 0 7 16 16 2", "plain(3,0,7 16,16,2)"},                  //
		{"", "3 32767 1 16 16 2", "second(1,65534,2 48,8,1 0)"},        // the largest grid
		{"", "3 32768 1 16 16 2", "plain(3,32768,1 16,16,2)"},          // one more
		{"", "3 1 40000 16 16 2", "plain(3,1,40000 16,16,2)"},          // 80000 blocks in z
		{"", "3 70000 1 16 16 2", "plain(3,70000,1 16,16,2)"},          // fails, as ever
		{"", "134217726 1 1 16 16 2", "second(44739242,2,2 48,8,1 0)"}, // 2^31 - 32 threads
		{"", "134217729 1 1 16 16 2", "plain(134217729,1,1 16,16,2)"},  // 2^31 + 16
		{"", "4294967295 1 1 16 16 2", "plain(4294967295,1,1 16,16,2)"},
		// in its own shape, without an error of ours
		{"FAIL=1", "3 5 7 16 16 2", "refused plain(3,5,7 16,16,2)"},
		{"CAPTURING=1", "3 5 7 16 16 2", "plain(3,5,7 16,16,2)"}})
	in := func(x, y, z int) manner.Manner { return manner.Manner{Block: [3]int{x, y, z}} }
	for _, bad := range []Choice{{Block: [3]int{16, 0, 0}, Manner: in(32, 1, 1)},
		{Manner: in(32, 1, 1), Dynamic: &at}, {Block: [3]int{16, 1, 1}, Manner: in(32, 0, 1)},
		{Block: [3]int{16, 1, 1}, Manner: manner.Manner{Coarse: [3]int{2, 0, 1}}}} {
		bad.Entry, bad.Second = "_Z1kPi", "second"
		if _, refused := Patch([]byte(stubText), []Choice{bad}); refused["second"] == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestCoarseLaunches: a second entry whose blocks do the work of several, and the launches that
// keep the kernel itself.
func TestCoarseLaunches(t *testing.T) {
	at := 64
	shapedLaunches(t, Choice{Block: [3]int{16, 16, 1},
		Manner: manner.Manner{Coarse: [3]int{1, 4, 1}}, Dynamic: &at}, []shapedLaunch{
		{"", "3 8 7 16 16 1 64", "second(3,2,7 16,16,1 64)"},
		{"", "3 4 1 16 16 1 64", "second(3,1,1 16,16,1 64)"},
		{"", "3 6 7 16 16 1 64", "plain(3,6,7 16,16,1)"}, // four don't divide six
		{"", "3 3 7 16 16 1 64", "plain(3,3,7 16,16,1)"}, // no block would be left
		{"", "3 8 7 16 8 1 64", "plain(3,8,7 16,8,1)"},   // other blocks
		{"", "3 8 7 16 16 1", "plain(3,8,7 16,16,1)"},    // other shared memory
		{"", "0 8 7 16 16 1 64", "plain(0,8,7 16,16,1)"}, // these fail, as ever
		{"", "3 0 7 16 16 1 64", "plain(3,0,7 16,16,1)"}, //
		{"", "3 8 0 16 16 1 64", "plain(3,8,0 16,16,1)"}, //
		{"", "3 65536 1 16 16 1 64", "plain(3,65536,1 16,16,1)"},
		{"", "3 8 65536 16 16 1 64", "plain(3,8,65536 16,16,1)"},
		{"", "2147483648 8 1 16 16 1 64", "plain(2147483648,8,1 16,16,1)"},
		{"", "2147483647 65532 1 16 16 1 64", "second(2147483647,16383,1 16,16,1 64)"},
		{"FAIL=1", "3 8 7 16 16 1 64", "refused plain(3,8,7 16,16,1)"},
		{"CAPTURING=1", "3 8 7 16 16 1 64", "plain(3,8,7 16,16,1)"},
		{"CLUSTER=2", "3 8 7 16 16 1 64", "plain(3,8,7 16,16,1)"}})
	// with a reserve
	shapedLaunches(t, Choice{Block: [3]int{16, 16, 1}, Dynamic: &at, Manner: manner.Manner{
		Coarse: [3]int{2, 1, 1}, Reserve: throttled.Reserve}}, []shapedLaunch{
		{"", "8 8 7 16 16 1 64", "dynamic=60064 carveout=43 second(4,8,7 16,16,1 60064)"},
		{"", "9 8 7 16 16 1 64", "plain(9,8,7 16,16,1)"}})
}

// TestBesideLaunches: blocks that stand beside each other in one, for any grid and for one alone.
func TestBesideLaunches(t *testing.T) {
	at := 0
	shapedLaunches(t, Choice{Block: [3]int{8, 1, 1}, Dynamic: &at,
		Manner: manner.Manner{Coarse: [3]int{4, 1, 1}, Beside: true}}, []shapedLaunch{
		{"", "8 3 2 8 1 1", "second(2,3,2 8,1,4 0)"},
		{"", "9 3 2 8 1 1", "plain(9,3,2 8,1,1)"},
		{"", "8 3 2 8 1 2", "plain(8,3,2 8,1,2)"},
		{"", "8 3 2 8 1 1 16", "plain(8,3,2 8,1,1)"}})
	only := Choice{Block: [3]int{8, 1, 1}, Grid: [3]int{9, 3, 2}, Dynamic: &at,
		Manner: manner.Manner{Coarse: [3]int{4, 1, 1}, Beside: true, Only: [3]int{9, 3, 2}}}
	shapedLaunches(t, only, []shapedLaunch{
		{"", "9 3 2 8 1 1", "second(3,3,2 8,1,4 0)"},
		{"", "8 3 2 8 1 1", "plain(8,3,2 8,1,1)"}, // its code knows the other grid
		{"", "10 3 2 8 1 1", "plain(10,3,2 8,1,1)"},
		{"", "9 3 1 8 1 1", "plain(9,3,1 8,1,1)"},
		{"", "9 3 2 4 1 1", "plain(9,3,2 4,1,1)"},
		{"FAIL=1", "9 3 2 8 1 1", "refused plain(9,3,2 8,1,1)"}})
	flat, other := only, only
	flat.Block, other.Grid = [3]int{8, 1, 0}, [3]int{9, 0, 0}
	for _, bad := range []Choice{flat, other} {
		bad.Entry, bad.Second = "_Z1kPi", "second"
		if _, refused := Patch([]byte(stubText), []Choice{bad}); refused["second"] == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
