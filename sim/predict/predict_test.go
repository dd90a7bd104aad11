package predict

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gnvcc/install/kits"
	"gnvcc/sim"
	"gnvcc/sim/cubin"
	"gnvcc/sim/sass"
)

// A line is an instruction of a made-up kernel: opcode with form, and its control field.
type line struct {
	code               uint64
	stall, write, wait int // write: scoreboard, -1: none
	to                 int // of a branch: index
	guard              uint64
}

const (
	ffma = 0x223
	ldg  = 0x981
	bra  = 0x947
	exit = 0x94d
)

func build(lines ...line) *sass.Function {
	var code []byte
	for n, l := range lines {
		write := uint64(7)
		if l.write >= 0 {
			write = uint64(l.write)
		}
		lo := l.code | (7-l.guard)<<12
		hi := uint64(l.stall)<<41 | 1<<45 | write<<46 | 7<<49 | uint64(l.wait)<<52 | 7<<23
		if l.code == ldg {
			hi |= 4<<9 | 1<<8
		}
		if l.code == bra {
			by := int64(l.to-n-1) * 16 / 4
			lo |= uint64(by) & 0xff << 16
			lo |= uint64(by>>8) << 34
			hi |= uint64(by>>8) >> 30 & (1<<18 - 1)
		}
		code = binary.LittleEndian.AppendUint64(code, lo)
		code = binary.LittleEndian.AppendUint64(code, hi)
	}
	return sass.Decode(cubin.Code{Name: "k", Kernel: true, Data: code}, 90)
}

func units(t *testing.T, cc int) Units {
	t.Helper()
	u, err := ForArchitecture(cc)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A load at a loop's end that is waited for at its beginning counts.
func TestBackEdge(t *testing.T) {
	u := units(t, 90)
	f := build(
		line{ffma, 4, -1, 0, 0, 0},
		line{ffma, 4, -1, 1, 0, 0}, // the loop's beginning
		line{ldg, 1, 0, 0, 0, 0},
		line{bra, 5, -1, 0, 1, 7},
		line{exit, 0, -1, 0, 0, 0})
	d, _ := sim.Lookup(90)
	r := Run{Function: f, Registers: 32, Device: d, Shape: sim.Shape{Threads: 256}, Units: u}
	e, err := r.Estimate()
	if err != nil {
		t.Fatal(err)
	}
	if e.Latency < 10*450 || e.Hottest.Wait < 450 || e.Hottest.Offset != 16 || e.Hottest.Share < 0.9 {
		t.Errorf("%+v", e)
	}
}

// Two loads on their way at once cost one latency, one after the other two.
func TestLoadsInFlight(t *testing.T) {
	d, _ := sim.Lookup(90)
	estimate := func(f *sass.Function) Estimate {
		r := Run{Function: f, Registers: 32, Device: d, Shape: sim.Shape{Threads: 64, Blocks: 132},
			Units: units(t, 90)}
		e, err := r.Estimate()
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	together := estimate(build(line{ldg, 1, 0, 0, 0, 0}, line{ldg, 1, 1, 0, 0, 0},
		line{ffma, 4, -1, 3, 0, 0}, line{exit, 0, -1, 0, 0, 0}))
	apart := estimate(build(line{ldg, 1, 0, 0, 0, 0}, line{ldg, 1, 1, 1, 0, 0}, line{ffma, 4, -1, 3, 0,
		0}, line{exit, 0, -1, 0, 0, 0}))
	if together.InFlight != 2 || apart.InFlight != 1 || apart.Latency < 1.9*together.Latency ||
		apart.Cycles < 1.5*together.Cycles {
		t.Errorf("together %+v\napart %+v", together, apart)
	}
}

// Where the grid is unknown a memory-bound kernel takes about as long with fewer resident warps,
// not less.
func TestUnknownGrid(t *testing.T) {
	d, _ := sim.Lookup(90)
	var lines []line
	for n := range 24 {
		lines = append(lines, line{ldg, 1, n % 6, 0, 0, 0})
	}
	lines = append(lines, line{ffma, 4, -1, 63, 0, 0}, line{exit, 0, -1, 0, 0, 0},
		line{bra, 0, -1, 0, 26, 0})
	f := build(lines...)
	if loops := f.Flow().Loops; len(loops) != 0 {
		t.Errorf("the filling behind the end is a loop: %+v", loops)
	}
	cycles := func(registers int) float64 {
		r := Run{Function: f, Registers: registers, Device: d, Shape: sim.Shape{Threads: 256},
			Units: units(t, 90)}
		e, err := r.Estimate()
		if err != nil {
			t.Fatal(err)
		}
		return e.Cycles
	}
	if many, few := cycles(32), cycles(64); few < many || few/many > 1.1 {
		t.Errorf("64 warps take %.0f cycles a block, 32 take %.0f", many, few)
	}
}

// What is spilled costs time where memory is full, too, and a build with less of it is predicted to
// be faster.
func TestSpillsCost(t *testing.T) {
	const ldl = 0x983
	d, _ := sim.Lookup(90)
	cycles := func(spills int) float64 {
		lines := []line{{ldg, 1, 0, 0, 0, 0}, {ldg, 1, 1, 0, 0, 0}, {ldg, 1, 2, 0, 0, 0}}
		for range spills {
			lines = append(lines, line{ldl, 1, 3, 0, 0, 0})
		}
		lines = append(lines, line{ffma, 4, -1, 15, 0, 0}, line{exit, 0, -1, 0, 0, 0})
		r := Run{Function: build(lines...), Registers: 32, Device: d, Shape: sim.Shape{Threads: 256,
			Blocks: 1 << 14}, Units: units(t, 90), Stack: 16}
		e, err := r.Estimate()
		if err != nil || e.Spills != float64(spills) {
			t.Fatalf("%+v, %v", e, err)
		}
		return e.Cycles
	}
	if none, some, more := cycles(0), cycles(8), cycles(16); some < 1.2*none || more < 1.1*some {
		t.Errorf("no spill accesses: %.0f cycles, 8: %.0f, 16: %.0f", none, some, more)
	}
}

func TestRefuses(t *testing.T) {
	d, _ := sim.Lookup(90)
	f := build(line{ffma, 4, -1, 0, 0, 0}, line{0x1ff, 1, -1, 0, 0, 0}, line{exit, 0, -1, 0, 0, 0})
	good := build(line{ffma, 4, -1, 0, 0, 0}, line{exit, 0, -1, 0, 0, 0})
	u := units(t, 90)
	for what, r := range map[string]Run{
		"unknown instructions": {Function: f, Registers: 32, Device: d, Shape: sim.Shape{Threads: 64},
			Units: u},
		"too large a block": {Function: good, Registers: 32, Device: d, Shape: sim.Shape{Threads: 2048},
			Units: u},
		"too many registers": {Function: good, Registers: 255, Device: d, Shape: sim.Shape{Threads: 1024},
			Units: u},
	} {
		if _, err := r.Estimate(); err == nil {
			t.Errorf("%s: predicted all the same", what)
		}
	}
	if _, err := ForArchitecture(52); err == nil {
		t.Error("rates of sm_52 are known")
	}
	for _, x := range sim.Devices() {
		if x.CC >= sass.First {
			if _, err := ForArchitecture(x.CC); err != nil {
				t.Error(err)
			}
		}
	}
}

// real compiles a kernel of the examples at some caps.
func real(t testing.TB, file, kernel string, threads, blocks int,
	caps ...string) (runs []Run, cubins [][]byte) {
	t.Helper()
	kit := kits.Need(t, "13.0")
	dir := t.TempDir()
	ptx := filepath.Join(dir, "k.ptx")
	run := func(name string, args ...string) {
		if text, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, text)
		}
	}
	run(kit.Nvcc(), "-arch=compute_90", "-I../../examples/common", "-ptx", file, "-o", ptx)
	d, _ := sim.Lookup(90)
	u, err := ForArchitecture(90)
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range caps {
		out := filepath.Join(dir, "k"+limit+".cubin")
		run(kit.Ptxas(), "-arch=sm_90", "-maxrregcount="+limit, ptx, "-o", out)
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewRun(b, kernel, d, sim.Shape{Threads: threads, Blocks: blocks}, u)
		if err != nil {
			t.Fatal(err)
		}
		runs, cubins = append(runs, r), append(cubins, b)
	}
	return runs, cubins
}

func TestReal(t *testing.T) {
	const kernel = "_Z4wavePKfPfiii"
	runs, cubins := real(t, "../../examples/stencil/stencil.cu", kernel, 256, 400, "255", "32", "24")
	if runs[2].Registers > 24 || runs[1].Registers > 32 {
		t.Fatalf("registers %d, %d, %d", runs[0].Registers, runs[1].Registers, runs[2].Registers)
	}
	var candidates []Candidate
	for n, r := range runs {
		candidates = append(candidates, Candidate{[]string{"default", "maxnreg=32", "maxnreg=24"}[n], r})
	}
	ranked, err := Rank(candidates[0], candidates[1:])
	if err != nil || len(ranked) != 2 || ranked[0].Err != nil ||
		bucket(ranked[0].By()) > bucket(ranked[1].By()) {
		t.Errorf("%+v, %v", ranked, err)
	}
	// Spilling at 24 registers must not look better than none.
	if e, _ := runs[2].Estimate(); e.Spills > 0 && ranked[0].Recipe == "maxnreg=24" &&
		ranked[0].Time < 0.5 {
		t.Errorf("spills are predicted to double the speed: %+v", ranked[0])
	}
	// 5 milliseconds a candidate, decoding and all: the best of some runs, on a machine with other
	// work.
	best := time.Hour
	d, _ := sim.Lookup(90)
	for range 20 {
		start := time.Now()
		r, err := NewRun(cubins[0], kernel, d, sim.Shape{Threads: 256, Blocks: 400}, runs[0].Units)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Estimate(); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	t.Logf("decoding and predicting: %v", best)
	if best > 5*time.Millisecond {
		t.Errorf("decoding and predicting takes %v", best)
	}
}

// What is predicted to gain or lose a little counts for nothing where the model is known to be off.
func TestBy(t *testing.T) {
	for _, c := range []struct {
		r    Ranked
		want float64
	}{
		{Ranked{Time: 0.97}, 0.97},
		{Ranked{Time: 0.97, More: true}, 1},
		{Ranked{Time: 0.94, More: true}, 0.94},
		{Ranked{Time: 1.2, More: true}, 1.2},
		{Ranked{Time: 1.03}, 1.03},
		{Ranked{Time: 1.03, Stacks: true}, 1},
		{Ranked{Time: 1.06, Stacks: true}, 1.06},
		{Ranked{Time: 0.97, Stacks: true}, 0.97},
	} {
		if got := c.r.By(); got != c.want {
			t.Errorf("%+v: %g, want %g", c.r, got, c.want)
		}
	}
	good, bad := ChanceOf(0.5), ChanceOf(7)
	if good.Slower != 0 || good.Faster > good.Of || bad.Faster > bad.Slower {
		t.Errorf("%v, %v", good, bad)
	}
	if _, ok := Pick([]Ranked{{Time: 0.93}}); ok {
		t.Error("7 % predicted are enough to be picked")
	}
}
