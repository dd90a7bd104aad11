// The table and the rules, against NVIDIA's headers in the toolkits.

package sim

import (
	"bytes"
	"fmt"
	"math/rand"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// toolkit returns the folder of an installed toolkit, or skips.
func toolkit(t *testing.T, version string) string {
	t.Helper()
	return kits.Need(t, version).Dir
}

func build(t *testing.T, compiler string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("SKIPPED, NOTHING WAS TESTED: no %s on this machine", compiler)
	}
	out := filepath.Join(t.TempDir(), "oracle")
	if msg, err := exec.Command(compiler, append(args, "-o", out)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, msg)
	}
	return out
}

func TestOccupancyAgainstHeader(t *testing.T) {
	for _, version := range []string{"13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			oracle := build(t, "gcc", "-O1", "-w", "-I"+toolkit(t, version)+"/include",
				"testdata/occupancy.c")
			rng := rand.New(rand.NewSource(1))
			type question struct {
				d     Device
				regs  int
				shape Shape
			}
			var asked []question
			var in bytes.Buffer
			ask := func(d Device, regs int, s Shape) {
				static := min(s.Shared, 48*kb) // what is above is dynamic, as ptxas asks for it
				if static > 1000 && rng.Intn(2) == 0 {
					static = rng.Intn(static)
				}
				asked = append(asked, question{d, regs, s})
				fmt.Fprintln(&in, d.CC, d.Threads, d.BlockRegisters, d.Registers, d.BlockShared, d.Shared,
					d.OptIn, d.Reserved,
					regs, s.Threads, static, s.Shared-static, s.Barriers, -1)
			}
			for _, d := range Devices() {
				for range 3000 {
					s := Shape{Threads: 1 + rng.Intn(BlockThreads)}
					if rng.Intn(2) == 0 {
						s.Threads = 32 * (1 + rng.Intn(BlockThreads/32))
					}
					switch rng.Intn(3) {
					case 0:
						s.Shared = rng.Intn(d.OptIn + 2000)
					case 1:
						s.Shared = rng.Intn(4000)
					}
					// The two headers disagree about 10.3's barriers.
					if rng.Intn(2) == 0 && (version != "13.0" || d.CC != 103) {
						s.Barriers = 1 + rng.Intn(16)
					}
					ask(d, 1+rng.Intn(d.ThreadRegisters), s)
				}
				for threads := 32; threads <= BlockThreads; threads += 32 {
					for regs := 1; regs <= d.ThreadRegisters; regs++ {
						ask(d, regs, Shape{Threads: threads})
					}
				}
			}
			run := exec.Command(oracle)
			run.Stdin = &in
			out, err := run.Output()
			if err != nil {
				t.Fatal(err)
			}
			answers := strings.Fields(string(out))
			if len(answers) != len(asked) {
				t.Fatalf("%d answers to %d questions", len(answers), len(asked))
			}
			wrong := 0
			for i, q := range asked {
				got := q.d.Occupancy(q.regs, q.shape)
				if fmt.Sprint(got.Blocks) != answers[i] {
					if wrong++; wrong <= 10 {
						t.Errorf("sm_%d, %d registers, %+v: %+v, the header says %s", q.d.CC, q.regs, q.shape, got,
							answers[i])
					}
				}
			}
			t.Logf("%d cases, %d wrong", len(asked), wrong)
		})
	}
}

func TestTableAgainstHeader(t *testing.T) {
	kit := toolkit(t, "13.5")
	out, err := exec.Command(build(t, "g++", "-std=c++17", "-w", "-I"+kit+"/include/cccl",
		"-I"+kit+"/include", "testdata/traits.cpp")).Output()
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(rows) != 19 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		var cc int
		fmt.Sscan(row, &cc)
		d, ok := Lookup(cc)
		if !ok {
			t.Errorf("no sm_%d", cc)
			continue
		}
		got := fmt.Sprint(d.CC, d.Threads, d.Warps, d.Blocks, d.Registers, d.BlockRegisters,
			d.ThreadRegisters, BlockThreads,
			d.Shared, d.BlockShared, d.OptIn, d.Reserved)
		if got != row {
			t.Errorf("sm_%d: %s\n the header says %s", cc, got, row)
		}
	}
}

// Throttled launches have as many resident blocks as was asked for, by NVIDIA's own rules.
func TestThrottleAgainstHeader(t *testing.T) {
	oracle := build(t, "gcc", "-O1", "-w", "-I"+toolkit(t, "13.5")+"/include", "testdata/occupancy.c")
	var in bytes.Buffer
	var want, what []string
	for _, d := range Devices() {
		for _, shared := range []int{0, 1, 128, 3000, 10000, 48 * kb, 70000} {
			most := d.Occupancy(16, Shape{Threads: 32, Shared: shared}).Blocks
			throttled := 0
			for blocks := most; blocks > 0; blocks-- {
				r, ok := d.Throttle(blocks, shared)
				if !ok {
					continue
				}
				if got := d.preferred(r.Carveout, shared+r.Dynamic) / roundUp(shared+r.Dynamic+d.Reserved,
					d.SharedUnit); got != blocks {
					t.Errorf("sm_%d, %d blocks of %d bytes: %+v gives %d as measured", d.CC, blocks, shared, r,
						got)
				}
				if throttled++; !r.On || r.Dynamic < 0 || shared+r.Dynamic > d.OptIn {
					t.Errorf("sm_%d, %d blocks of %d bytes: %+v", d.CC, blocks, shared, r)
				}
				static := min(shared, 48*kb)
				fmt.Fprintln(&in, d.CC, d.Threads, d.BlockRegisters, d.Registers, d.BlockShared, d.Shared,
					d.OptIn, d.Reserved,
					16, 32, static, shared-static+r.Dynamic, 0, r.Carveout)
				want = append(want, fmt.Sprint(blocks))
				what = append(what, fmt.Sprintf("sm_%d, %d of %d blocks of %d bytes: %+v", d.CC, blocks, most,
					shared, r))
			}
			for _, blocks := range []int{1, 2, (most + 1) / 2} {
				more, ok := d.Keeps(blocks, shared)
				if !ok {
					if d.CC >= 70 && blocks < most {
						t.Errorf("sm_%d: %d blocks of %d bytes can't be kept", d.CC, blocks, shared)
					}
					continue
				}
				if more <= 0 || shared+more > d.OptIn || blocks > most {
					t.Errorf("sm_%d, %d of %d blocks of %d bytes: %d more", d.CC, blocks, most, shared, more)
				}
				static := min(shared, 48*kb)
				fmt.Fprintln(&in, d.CC, d.Threads, d.BlockRegisters, d.Registers, d.BlockShared, d.Shared,
					d.OptIn, d.Reserved,
					16, 32, static, shared-static+more, 0, 100)
				want = append(want, fmt.Sprint(blocks))
				what = append(what, fmt.Sprintf("sm_%d, %d of %d blocks of %d bytes: %d more", d.CC, blocks,
					most, shared, more))
			}
			// 30 blocks and the like are no level everywhere: 256 bytes are the grain of Volta
			if d.CC < 70 && throttled > 0 || d.CC >= 70 && throttled < most*4/5 {
				t.Errorf("sm_%d, blocks of %d bytes: %d levels below %d", d.CC, shared, throttled, most)
			}
		}
	}
	run := exec.Command(oracle)
	run.Stdin = &in
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Fields(string(out))
	if len(answers) != len(want) {
		t.Fatalf("%d answers to %d questions", len(answers), len(want))
	}
	for i := range want {
		if answers[i] != want[i] {
			t.Errorf("%s: the header says %s", what[i], answers[i])
		}
	}
}

// TestPreferredAsMeasured: the resident blocks of a kernel of one warp's registers on an H200
// (driver 580.159), by preference in percent and bytes of dynamic shared memory.
func TestPreferredAsMeasured(t *testing.T) {
	d, _ := Lookup(90)
	bytes := []int{512, 1024, 1664, 3072, 7168, 15360, 30720, 48128, 65536, 102400}
	for percent, blocks := range map[int][]int{
		0:   {5, 4, 3, 2, 1, 1, 1, 1, 1, 1},
		3:   {21, 8, 6, 2, 1, 1, 1, 1, 1, 1},
		4:   {21, 16, 6, 4, 2, 1, 1, 1, 1, 1},
		7:   {32, 16, 12, 8, 2, 1, 1, 1, 1, 1},
		14:  {32, 32, 24, 16, 4, 2, 1, 1, 1, 1},
		28:  {32, 32, 32, 25, 12, 4, 2, 1, 1, 1},
		43:  {32, 32, 32, 32, 16, 6, 3, 2, 1, 1},
		57:  {32, 32, 32, 32, 20, 8, 4, 2, 2, 1},
		100: {32, 32, 32, 32, 28, 14, 7, 4, 3, 2},
	} {
		for i, b := range bytes {
			got := min(d.Blocks, d.preferred(percent, b)/roundUp(b+d.Reserved, d.SharedUnit))
			if got != blocks[i] {
				t.Errorf("%d %%, %d bytes: %d blocks, measured %d", percent, b, got, blocks[i])
			}
		}
	}
}
