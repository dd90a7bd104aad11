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
	c := &Recorded{Blocks: []Counted{{Runs: 1}}}
	add := func(l line, access, shared *Access) {
		lines = append(lines, l)
		c.Insts = append(c.Insts, Origin{Statement: len(lines), Access: access, Shared: shared})
	}
	for n := range loads {
		c.Accesses = append(c.Accesses, &Access{Runs: 1, Sectors: 4, L2: 4, Memory: 4, Lines: 1})
		add(line{ldg, 1, n % 4, 0, 0, 0}, c.Accesses[n], nil)
	}
	add(line{lds, 1, 4, 0, 0, 0}, nil, &Access{Runs: 1, Turns: 1})
	for range sums {
		add(line{ffma, 4, -1, 0, 0, 0}, nil, nil)
	}
	add(line{exit, 0, -1, 31, 0, 0}, nil, nil)
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
	conflict := busy(t, 8, 40, func(c *Recorded) { c.Insts[8].Shared.Turns = 32 })
	if d := conflict["L1"] - was["L1"]; math.Abs(d-31) > 1e-9 {
		t.Errorf("32 turns of shared memory for one take %g cycles more", d)
	}
	stores := busy(t, 8, 40, func(c *Recorded) { c.Accesses[0].Store, c.Accesses[0].Memory = true, 0 })
	if stores["L2"] < was["L2"]*1.1 {
		t.Errorf("a store of 8 accesses: L2 is busy for %g, %g", stores["L2"], was["L2"])
	}
	back := busy(t, 8, 40, func(c *Recorded) { c.Accesses[3].Written = 32 })
	if b := was["memory"]; math.Abs(back["memory"]-2*b/oneWay) > 1e-9 {
		t.Errorf("as much written back as read: memory is busy for %g, %g", back["memory"],
			was["memory"])
	}
	// Stores that L2 has not are no reads of memory; where write-backs were not counted, they stand
	// for these.
	unknown := busy(t, 8, 40, func(c *Recorded) { c.Unwritten, c.Accesses[0].Store = true, true })
	known := busy(t, 8, 40, func(c *Recorded) { c.Accesses[0].Store = true })
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
		a := &Access{Runs: 2, Sectors: 2 * x.sectors, Lines: 2 * x.lines}
		if got := a.rowTurns(x.full); got != x.want {
			t.Errorf("%+v: %g turns", x, got)
		}
	}
}

// Memory takes longer for parts of lines, and much longer where these are stored again; not where
// other blocks use the same sectors.
func TestRows(t *testing.T) {
	record := func(lines, again, memory float64) *Recorded {
		return &Recorded{Accesses: []*Access{{Sectors: 4, L2: 4, Memory: memory, Lines: lines, Written: 4},
			{Sectors: 4, L2: 4, Memory: 4 - again, Lines: lines, Store: true}}}
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
