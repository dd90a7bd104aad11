package predict

import "math"

// What all SMs share: L2 and device memory. Times are cycles in which one warp keeps one SM's share
// busy. The numbers are an H200's, by micro-kernels with other patterns of accesses
// (bench/results/2026-11-22-xmodel-2/memory.txt), as parts of what profile/units measures: L2's
// rate of loads, and memory's when something is copied.

// What L2 takes for a store, in the time of a sector that it gives: for each line that a warp's
// store touches, and for each sector (memory-l2.txt beside it).
const (
	storeLine   = 1.3
	storeSector = 1.9
)

const (
	// oneWay is what memory takes for a sector where it only reads or only writes, in the time of one
	// of a copy.
	oneWay = 0.92
	// overlap is how the times of L2 and memory add up, as powers: copies and sums of whole rows
	// are met within 5 % by 4.
	overlap = 4
	// alone is the part of L2's loads that must come from memory for a launch to use each sector once.
	// Where lanes of other blocks use the same sectors, they bring each other's rows: not measured.
	alone = 0.9
)

// byRow is what memory takes for a sector by how much of a line (128 bytes) a warp touches in one
// row: 1, 2 or 4 sectors; the rest of the line is other blocks'. inPlace is likewise, where what is
// stored was loaded before: a line that several SMs load and store goes to and fro.
var (
	byRow   = [3]float64{1.4, 1.08, 1}
	inPlace = [3]float64{2.35, 1.75, 1.1}
)

// ofRow looks up a table by sectors a line, in between by logarithm.
func ofRow(table [3]float64, sectors float64) float64 {
	at := math.Log2(min(max(sectors, 1), 4))
	n := min(int(at), 1)
	return table[n] + (table[n+1]-table[n])*(at-float64(n))
}

// deliver is how many of the sectors that a kernel's accesses touch it is given per cycle, at most,
// by L2 and by memory together.
func (r *Run) deliver(e *Estimate) float64 {
	l2, memory := r.chip(e)
	if !e.Counted {
		return max(e.Sectors, 1e-3) / max(math.Hypot(l2, memory), 1e-9)
	}
	cycles := math.Pow(math.Pow(l2, overlap)+math.Pow(memory, overlap), 1.0/overlap)
	return max(e.Sectors, 1e-3) / max(cycles, 1e-9)
}

// chip is how many cycles one warp keeps an SM's share of L2, and of memory.
func (r *Run) chip(e *Estimate) (l2, memory float64) {
	c := r.recorded()
	if c == nil {
		return e.L2 / r.Units.L2Sectors, e.Memory / r.Units.Sectors
	}
	l2 = e.written * (storeSector + storeLine/4)
	for _, a := range c.Accesses {
		if a.Store {
			l2 += storeLine*a.Lines + storeSector*a.L2
		} else {
			l2 += a.L2
		}
	}
	return l2 / r.Units.L2Sectors, c.traffic() / r.Units.Sectors
}

// traffic is what one warp's accesses cost memory, in sectors of a copy.
func (c *Recorded) traffic() float64 {
	var all, kept rows // loads and stores; stores of what L2 has
	reads, loads, writes, missed := 0.0, 0.0, 0.0, 0.0
	for _, a := range c.Accesses {
		if a.Store {
			missed += a.Memory
			kept.add(a.Sectors, a.Lines, a.L2-a.Memory)
		} else {
			reads += a.Memory
			loads += a.L2
		}
		all.add(a.Sectors, a.Lines, a.Memory)
		writes += a.Written
	}
	if c.Unwritten {
		writes = missed
	}
	if reads+writes <= 0 {
		return 0
	}
	back := min(writes, kept.weight, reads)
	other := reads + writes - 2*back
	row, again := 4.0, 4.0
	if reads >= alone*loads {
		row, again = all.mean(), kept.mean()
	}
	mixed := 2 * min(reads-back, writes-back) / max(other, 1e-9)
	return other*(oneWay+(1-oneWay)*mixed)*ofRow(byRow, row) + 2*back*ofRow(inPlace, again)
}

// rows is a mean of sectors a line, weighted.
type rows struct{ weight, sum float64 }

func (r *rows) add(sectors, lines, weight float64) {
	if lines > 0 && weight > 0 {
		r.weight += weight
		r.sum += weight * sectors / lines
	}
}

func (r *rows) mean() float64 {
	if r.weight <= 0 {
		return 4
	}
	return r.sum / r.weight
}
