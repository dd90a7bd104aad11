package predict

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"testing"

	"gnvcc/sim"
)

// busy is how long one warp keeps the parts of the machine busy, of a made-up kernel: some loads that nobody waits for until the end, and
// arithmetic, all counted: record changes the counts of one run of a warp.
func busy(t *testing.T, loads, sums int, record func(*Recorded)) map[string]float64 {
	t.Helper()
	const lds = 0x984
	var lines []line
	c := &Recorded{Runs: []float64{1}, Called: []bool{false}}
	add := func(l line, access, shared int) {
		lines = append(lines, l)
		c.Block, c.Statement = append(c.Block, 0), append(c.Statement, len(lines))
		c.Plain, c.Calls = append(c.Plain, false), append(c.Calls, false)
		c.Access, c.Shared = append(c.Access, access), append(c.Shared, shared)
	}
	for n := range loads {
		add(line{ldg, 1, n % 4, 0, 0, 0}, n, -1)
		c.In, c.Stores = append(c.In, 0), append(c.Stores, false)
		c.Sectors, c.L2 = append(c.Sectors, 4), append(c.L2, 4)
		c.Memory, c.Lines = append(c.Memory, 4), append(c.Lines, 1)
		c.Written = append(c.Written, 0)
	}
	add(line{lds, 1, 4, 0, 0, 0}, -1, 0)
	c.Turns, c.TurnIn = []float64{1}, []int{0}
	for range sums {
		add(line{ffma, 4, -1, 0, 0, 0}, -1, -1)
	}
	add(line{exit, 0, -1, 31, 0, 0}, -1, -1)
	if record != nil {
		record(c)
	}
	d, _ := sim.Lookup(90)
	u := units(t, 90)
	r := Run{Function: build(lines...), Registers: 64, Device: d, Units: u,
		Shape: sim.Shape{Threads: 256, Blocks: 132 * 40}, Recorded: c}
	e, err := r.Estimate()
	if err != nil {
		t.Fatal(err)
	}
	out := r.model(&e).busy
	out["L2"], out["memory"] = r.chip(&e)
	return out
}

// What keeps parts of the machine busy: banks in conflict, stores, sectors written back to memory.
func TestBusy(t *testing.T) {
	was := busy(t, 8, 40, nil)
	conflict := busy(t, 8, 40, func(c *Recorded) { c.Turns[0] = 32 })
	if d := conflict["L1"] - was["L1"]; math.Abs(d-31) > 1e-9 {
		t.Errorf("32 turns of shared memory for one take %g cycles more", d)
	}
	stores := busy(t, 8, 40, func(c *Recorded) { c.Stores[0], c.Memory[0] = true, 0 })
	if stores["L2"] < was["L2"]*1.1 {
		t.Errorf("a store of 8 accesses: L2 is busy for %g, %g", stores["L2"], was["L2"])
	}
	back := busy(t, 8, 40, func(c *Recorded) { c.Written[3] = 32 })
	if b := was["memory"]; math.Abs(back["memory"]-2*b/oneWay) > 1e-9 {
		t.Errorf("as much written back as read: memory is busy for %g, %g", back["memory"],
			was["memory"])
	}
	// Stores that L2 has not are no reads of memory; where write-backs were not counted, they stand
	// for these.
	unknown := busy(t, 8, 40, func(c *Recorded) { c.Written, c.Stores[0] = nil, true })
	known := busy(t, 8, 40, func(c *Recorded) { c.Stores[0] = true })
	if b := was["memory"]; unknown["memory"] < b || unknown["memory"] > 1.05*b ||
		math.Abs(known["memory"]-b*7/8) > 1e-9 {
		t.Errorf("memory is busy for %g, %g, %g", was["memory"], unknown["memory"],
			known["memory"])
	}
}

// A row that is shifted against the lines takes no turn more; two rows take two.
func TestRowTurns(t *testing.T) {
	for _, x := range []struct{ sectors, lines, full, want float64 }{
		{4, 1, 4, 1}, {5, 2, 4, 1}, {4.75, 1.75, 4, 1}, {9, 3, 8, 2}, {4, 2, 4, 2}, {6, 4, 4, 4},
		{2, 2, 1, 2}, {32, 32, 4, 32}} {
		c := &Recorded{Runs: []float64{2}, In: []int{0}, Sectors: []float64{2 * x.sectors},
			Lines: []float64{2 * x.lines}}
		if got := c.rowTurns(0, x.full); got != x.want {
			t.Errorf("%+v: %g turns", x, got)
		}
	}
}

// Memory takes longer for parts of lines, and much longer where these are stored again; not where
// other blocks use the same sectors.
func TestRows(t *testing.T) {
	record := func(lines, again, memory float64) *Recorded {
		return &Recorded{Sectors: []float64{4, 4}, L2: []float64{4, 4},
			Memory: []float64{memory, 4 - again}, Lines: []float64{lines, lines},
			Written: []float64{4, 0}, Stores: []bool{false, true}}
	}
	whole, half := record(1, 0, 4).traffic(), record(2, 0, 4).traffic()
	again := record(2, 4, 4).traffic()
	if whole != 8 || math.Abs(half/whole-byRow[1]) > 1e-9 || math.Abs(again/whole-inPlace[1]) > 1e-9 {
		t.Errorf("copied by whole rows: %g, by half: %g, stored where it was: %g", whole, half, again)
	}
	if shared := record(2, 4, 3).traffic(); shared > 7*inPlace[2]+1e-9 {
		t.Errorf("sectors that others use, too: %g", shared)
	}
	if none := new(Recorded).traffic(); none != 0 {
		t.Errorf("no access: %g", none)
	}
	for sectors, want := range map[float64]float64{0: 1.4, 1: 1.4, 2: 1.08, 4: 1, 8: 1} {
		if got := ofRow(byRow, sectors); got != want {
			t.Errorf("%g sectors a line: %g", sectors, got)
		}
	}
}

// Short blocks begin no faster than the GPU begins blocks, long ones have other bounds.
func TestDispatch(t *testing.T) {
	most := func(parts map[string]float64) string {
		return slices.MaxFunc(slices.Collect(maps.Keys(parts)), func(a, b string) int {
			return cmp.Compare(parts[a], parts[b])
		})
	}
	if part := most(busy(t, 1, 4, nil)); part != dispatch {
		t.Errorf("short blocks: bound by %s", part)
	}
	if part := most(busy(t, 1, 4000, nil)); part == dispatch {
		t.Errorf("long blocks: bound by %s", part)
	}
}
