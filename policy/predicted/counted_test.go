package predicted

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/install/kits"
	"gnvcc/policy"
	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/ptx"
	"gnvcc/sim"
	"gnvcc/sim/predict"
)

// TestRecorded: what was counted by blocks of the PTX comes to the instructions, whatever ptxas
// makes of the loop (13.x unrolls it, and leaves a loop for the rest), and to those of a called
// function.
func TestRecorded(t *testing.T) {
	const trips, warps = 1003, 8 * 60
	for _, kit := range kits.All(t) {
		dir := t.TempDir()
		source, in, out := filepath.Join(dir, "k.cu"), filepath.Join(dir, "k.ptx"),
			filepath.Join(dir, "k.cubin")
		if err := os.WriteFile(source, []byte(`
__device__ __noinline__ float twice(float x) { return fmaf(x, 2.f, 3.f); }
extern "C" __global__ void k(const float *__restrict__ a, float *b, int n) {
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < n; i++) s += a[i] * 5.f;
  b[threadIdx.x] = twice(s);
}`), 0o600); err != nil {
			t.Fatal(err)
		}
		ptxas := filepath.Join(filepath.Dir(kit.Nvcc()), "ptxas")
		for _, args := range [][]string{{kit.Nvcc(), "-w", "-arch=sm_80", "-ptx", "-o", in, source},
			{ptxas, "-arch=sm_80", "-lineinfo", "-o", out, in}} {
			if msg, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, msg)
			}
		}
		code, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(in)
		if err != nil {
			t.Fatal(err)
		}
		m, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		counted, err := counters.CountersOf(m, "k")
		if err != nil {
			t.Fatal(err)
		}
		c := &cache.Counts{}
		looped := -1
		counted.Every(func(n int, b counters.Block) {
			runs := uint64(warps)
			for i := b.Block.First; i < b.Last; i++ {
				if op := string(b.Func.Opcode(i)); b.Func.Name == "k" && strings.HasPrefix(op, "ld.global") {
					runs, looped = warps*trips, n
				}
			}
			c.Blocks = append(c.Blocks, runs)
		})
		for _, a := range counted.Accesses {
			n := c.Blocks[a.Block]
			c.Sectors, c.L2 = append(c.Sectors, n), append(c.L2, n/10)
			c.Memory, c.Lines = append(c.Memory, n/100), append(c.Lines, n)
		}
		if looped < 0 || len(counted.Accesses) != 2 {
			t.Fatalf("%s: no loop, %d accesses\n%s", kit.Version, len(counted.Accesses), text)
		}
		shape := sim.Shape{Threads: 256, Blocks: 60}
		recorded, err := Recorded(code, text, "k", c, shape)
		if err != nil {
			t.Fatal(err)
		}
		device, _ := sim.Lookup(80)
		rates, err := predict.ForArchitecture(80)
		if err != nil {
			t.Fatal(err)
		}
		run, err := predict.NewRun(code, "k", device, shape, rates)
		if err != nil {
			t.Fatal(err)
		}
		guessed, err := run.Estimate()
		if err != nil {
			t.Fatal(err)
		}
		run.Recorded = recorded
		e, err := run.Estimate()
		if err != nil {
			t.Fatal(err)
		}
		if !e.Counted || guessed.Counted || e.Insts < 3*trips || e.Insts > 12*trips ||
			guessed.Insts > 1000 {
			t.Errorf("%s: %.0f instructions of %d rounds, %.0f guessed", kit.Version, e.Insts, trips,
				guessed.Insts)
		}
		if math.Abs(e.Sectors-(trips+1)) > 1e-6 || e.L2 > e.Sectors/9 || e.Memory > e.L2/9 {
			t.Errorf("%s: %g sectors, %g of L2, %g of memory", kit.Version, e.Sectors, e.L2, e.Memory)
		}
		ranked(t, run)
		// Counts of other code, or of a launch whose size is not known, are for nobody.
		short := *c
		short.Blocks = c.Blocks[1:]
		if _, err := Recorded(code, text, "k", &short, shape); err == nil {
			t.Error("counts of other code are taken")
		}
		if _, err := Recorded(code, text, "k", c, sim.Shape{Threads: 256}); err == nil {
			t.Error("counts of a launch of no size are taken")
		}
	}
}

// ranked tells whether candidates are ranked by guesses, and the graphs drawn by counts.
func ranked(t *testing.T, run predict.Run) {
	t.Helper()
	other := run
	other.Registers += 32
	k := Kernel{Kernel: &policy.Kernel{Name: "k"}}
	err := k.rank(run, []predict.Run{other}, []predict.Candidate{{Recipe: "maxnreg=64", Run: other}},
		nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	run.Recorded, other.Recorded = nil, nil
	a, err := run.Estimate()
	if err != nil {
		t.Fatal(err)
	}
	b, err := other.Estimate()
	if err != nil {
		t.Fatal(err)
	}
	if want := b.Cycles / a.Cycles; len(k.Ranked) != 1 || k.Ranked[0].Time != want ||
		!k.Picture.Default.Counted {
		t.Errorf("%+v, by guesses %g; counted: %v", k.Ranked, want, k.Picture.Default.Counted)
	}
}

// TestNote: what the models can't tell apart is called so.
func TestNote(t *testing.T) {
	k := Kernel{Same: map[string]error{}}
	if n := k.Note(predict.Ranked{Time: 0.997}); !strings.Contains(n, "as fast as nvcc's own") {
		t.Errorf("%q", n)
	}
	if n := k.Note(predict.Ranked{Time: 0.9}); n != "" {
		t.Errorf("%q", n)
	}
}
