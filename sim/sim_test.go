package sim

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func device(t *testing.T, cc int) Device {
	t.Helper()
	d, ok := Lookup(cc)
	if !ok {
		t.Fatalf("no sm_%d in the table", cc)
	}
	return d
}

func TestLookup(t *testing.T) {
	for _, cc := range []int{35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87,
		88, 89, 90, 100, 101, 103, 110, 120, 121} {
		d := device(t, cc)
		if d.CC != cc || d.Threads != d.Warps*32 || d.Registers%d.Partitions != 0 ||
			(d.Product == "") != (d.SMs == 0) {
			t.Errorf("sm_%d: %+v", cc, d)
		}
	}
	for _, cc := range []int{0, -1, 13, 20, 85, 91, 107, 999} {
		if d, ok := Lookup(cc); ok {
			t.Errorf("sm_%d: %+v", cc, d)
		}
	}
	for i, d := range Devices() {
		if i > 0 && d.CC <= Devices()[i-1].CC {
			t.Errorf("the table is not in order at sm_%d", d.CC)
		}
	}
}

func TestOccupancy(t *testing.T) {
	for _, c := range []struct {
		cc, regs int
		shape    Shape
		want     string
	}{
		{90, 36, Shape{Threads: 256}, "{6 48 registers}"}, // Eq. 3 says 7
		{90, 32, Shape{Threads: 256}, "{8 64 warps}"},
		{90, 255, Shape{Threads: 256}, "{1 8 registers}"},
		{90, 255, Shape{Threads: 512}, "{0 0 registers}"},
		{90, 256, Shape{Threads: 32}, "{0 0 registers}"},
		{90, 32, Shape{Threads: 32}, "{32 32 blocks}"},
		{90, 32, Shape{Threads: 33}, "{32 64 warps}"},
		{90, 32, Shape{Threads: 1025}, "{0 0 block size}"},
		{90, 32, Shape{Threads: 0}, "{0 0 block size}"},
		{90, 32, Shape{Threads: 256, Shared: 227 * kb}, "{1 8 shared memory}"},
		{90, 32, Shape{Threads: 256, Shared: 227*kb + 1}, "{0 0 shared memory}"},
		{90, 32, Shape{Threads: 128, Shared: 31 * kb}, "{7 28 shared memory}"}, // 32 KB with the reserve
		{75, 32, Shape{Threads: 128, Shared: 32 * kb}, "{2 8 shared memory}"},  // no reserve
		{90, 32, Shape{Threads: 128, Barriers: 16}, "{4 16 barriers}"},
		{80, 32, Shape{Threads: 128, Barriers: 16}, "{16 64 warps}"},
		{90, 32, Shape{Threads: 128, Blocks: 132}, "{1 4 grid}"},
		{90, 32, Shape{Threads: 128, Blocks: 133}, "{2 8 grid}"},
		// a tie: registers would not help alone
		{90, 128, Shape{Threads: 128, Blocks: 132 * 4}, "{4 16 grid}"},
		{90, 129, Shape{Threads: 128, Blocks: 132 * 4}, "{3 12 registers}"},
		{90, 32, Shape{Threads: 128, Blocks: 1}, "{1 4 grid}"},
		// Small register files per block.
		{53, 64, Shape{Threads: 1024}, "{0 0 registers}"},
		{52, 64, Shape{Threads: 1024}, "{1 32 registers}"},
		{37, 64, Shape{Threads: 1024}, "{2 64 warps}"},
	} {
		if got := fmt.Sprint(device(t, c.cc).Occupancy(c.regs, c.shape)); got != c.want {
			t.Errorf("sm_%d, %d registers, %+v: %s, want %s", c.cc, c.regs, c.shape, got, c.want)
		}
	}
	d := device(t, 90)
	d.SMs = 0 // an unknown GPU: the grid can't be judged
	if o := d.Occupancy(32, Shape{Threads: 128, Blocks: 1}); o.Blocks != 16 {
		t.Errorf("%+v", o)
	}
	if f := d.Fraction(Occupancy{Warps: 48}); f != 0.75 {
		t.Errorf("fraction %v", f)
	}
}

// More registers or more shared memory never allow more blocks, and no limit is exceeded.
func TestOccupancyIsMonotone(t *testing.T) {
	for _, d := range Devices() {
		for threads := 16; threads <= BlockThreads; threads += 48 {
			for _, shared := range []int{0, 1000, 20000, 48 * kb} {
				before := 1 << 30
				for regs := 1; regs <= d.ThreadRegisters; regs++ {
					o := d.Occupancy(regs, Shape{Threads: threads, Shared: shared})
					if o.Blocks > before {
						t.Fatalf("sm_%d: %d threads, %d bytes: %d blocks with %d registers, %d with one less", d.CC,
							threads, shared, o.Blocks, regs, before)
					}
					if o.Warps > d.Warps || o.Blocks > d.Blocks || o.Warps*32*regs > d.Registers ||
						o.Blocks*(shared+d.Reserved) > d.Shared {
						t.Fatalf("sm_%d: %d threads, %d registers, %d bytes: %+v is too much", d.CC, threads, regs,
							shared, o)
					}
					before = o.Blocks
				}
			}
		}
	}
}

func TestCriticalPoints(t *testing.T) {
	for _, c := range []struct {
		cc       int
		shape    Shape
		min, max int
		want     []int
	}{
		// All counts at which sm_90 can change: a block of one warp per sub-partition.
		{90, Shape{Threads: 128}, 1, 255, []int{255, 168, 128, 96, 80, 72, 64, 56, 48, 40, 32}},
		{90, Shape{Threads: 256}, 24, 255, []int{255, 128, 80, 64, 48, 40, 32}},
		{90, Shape{Threads: 256}, 30, 70, []int{70, 64, 48, 40, 32}},
		{90, Shape{Threads: 1024}, 24, 255, []int{64, 32}},
		{90, Shape{Threads: 512}, 24, 255, []int{128, 64, 40, 32}},
		// one block per SM: registers are free
		{90, Shape{Threads: 256, Blocks: 132}, 24, 255, []int{255}},
		{90, Shape{Threads: 256, Blocks: 300}, 24, 255, []int{255, 128, 80}},
		{90, Shape{Threads: 256, Shared: 100 * kb}, 24, 255, []int{255, 128}},
		{75, Shape{Threads: 256}, 24, 255, []int{255, 128, 80, 64}},
		{90, Shape{Threads: 2000}, 24, 255, nil},
		{90, Shape{Threads: 256}, 200, 100, nil},
	} {
		got := device(t, c.cc).CriticalPoints(c.shape, c.min, c.max)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("sm_%d %+v in [%d, %d]: %v, want %v", c.cc, c.shape, c.min, c.max, got, c.want)
		}
	}
}

// Each critical point is one: one register more gives fewer blocks, or is beyond the region.
func TestCriticalPointsAreCritical(t *testing.T) {
	for _, d := range Devices() {
		for threads := 32; threads <= BlockThreads; threads += 32 {
			s, seen := Shape{Threads: threads, Shared: threads * 20}, map[int]bool{}
			for _, l := range d.Levels(s, Floor, d.ThreadRegisters) {
				if seen[l.Blocks] || l.Min > l.Max || d.Occupancy(l.Min, s).Blocks != l.Blocks ||
					d.Occupancy(l.Max, s) != l.Occupancy {
					t.Fatalf("sm_%d %+v: level %+v", d.CC, s, l)
				}
				if l.Max < d.ThreadRegisters && d.Occupancy(l.Max+1, s).Blocks >= l.Blocks {
					t.Fatalf("sm_%d %+v: %d is not critical", d.CC, s, l.Max)
				}
				seen[l.Blocks] = true
			}
		}
	}
}

func TestLaunchability(t *testing.T) {
	d := device(t, 90)
	for threads, want := range map[int]int{1024: 64, 1: 255, 256: 255, 257: 168, 512: 128, 0: 0,
		1025: 0} {
		if got := d.MostRegisters(threads); got != want {
			t.Errorf("%d threads: most registers %d, want %d", threads, got, want)
		}
	}
	for _, d := range Devices() {
		for threads := 1; threads <= BlockThreads; threads++ {
			n := d.MostRegisters(threads)
			if n > 0 && d.Occupancy(n, Shape{Threads: threads}).Blocks == 0 ||
				n < d.ThreadRegisters && d.Occupancy(n+1, Shape{Threads: threads}).Blocks > 0 {
				t.Fatalf("sm_%d: %d threads: %d are not the most registers", d.CC, threads, n)
			}
		}
	}
}

func TestRegion(t *testing.T) {
	d := device(t, 35)
	for in, want := range map[[2]int]Region{
		{24, 60}: {24, 60}, {60, 24}: {24, 60}, {24, 300}: {24, 255}, {0, 0}: {1, 1}, {40, 40}: {40, 40},
	} {
		if got := d.Region(in[0], in[1]); got != want {
			t.Errorf("%v: %v, want %v", in, got, want)
		}
	}
}

func TestPlot(t *testing.T) {
	d := device(t, 90)
	p := Plot{Device: d, Shape: Shape{Threads: 256, Shared: 2048}, Region: Region{30, 60}, Default: 38,
		Chosen: 48}
	want :=
		`registers    blocks  warps  of 64 on sm_90, blocks of 256 threads, 2048 bytes of shared memory, many blocks (assumed)
 30 ..  32        8     64  ################################  warps          critical point 32
 33 ..  40        6     48  ########################--------  registers      default 38, critical point 40
 41 ..  48        5     40  ####################------------  registers      chosen 48, critical point 48
 49 ..  60        4     32  ################----------------  registers      critical point 60
`
	if got := p.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	// A default outside of the region is shown; counts that can't be launched are said to be so.
	p = Plot{Device: d, Shape: Shape{Threads: 1024, Blocks: 40}, Region: Region{50, 90}, Default: 44}
	want = `registers    blocks  warps  of 64 on sm_90, blocks of 1024 threads, 40 blocks on 132 SMs
 65 ..  90        -      -  a block of 1024 threads can't be launched
 44 ..  64        1     32  ################----------------  grid           default 44, critical point 64
`
	if got := p.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	p = Plot{Device: d, Shape: Shape{Threads: 4096}, Region: Region{50, 90}}
	if got := p.String(); !strings.Contains(got, "no block fits (block size)") {
		t.Errorf("got %s", got)
	}
	for _, r := range p.String() {
		if r > 126 {
			t.Errorf("%q is not ASCII", r)
		}
	}
}
