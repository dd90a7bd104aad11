// Critical points: the register counts worth trying.
//
// Li, Song, Kumar, Zhang, Chavarria-Miranda, Corporaal: Critical Points Based Register-Concurrency
// Autotuning for GPUs (DATE 2016), section III. More registers mean fewer spills, fewer registers
// mean more resident blocks, and the number of blocks falls in steps only. So of all counts with
// the same number of blocks the largest is the best bet: the critical point. The paper's Eq. 3 is
// replaced by the allocation that Occupancy models, and the grid, which the paper drops, is kept: a
// launch of few blocks has one level only, and its critical point is the kernel's largest count.

package sim

// Floor is the smallest cap that ptxas honours (.maxnreg; measured on 11.8 and 13.0).
const Floor = 24

// A Region is a kernel's register effective region: below Min no compile goes, and above Max no
// register is put to use.
type Region struct{ Min, Max int }

// Region makes the region from two compiles of the kernel, one with the cap at the floor and one
// with the cap at 255: the register counts that they gave. (The default's own count may lie
// outside: no cap is not the same as a cap of 255.)
func (d Device) Region(floor, ceiling int) Region {
	if floor > ceiling {
		floor, ceiling = ceiling, floor
	}
	return Region{max(1, min(floor, d.ThreadRegisters)), max(1, min(ceiling, d.ThreadRegisters))}
}

// A Level is a run of register counts with the same number of resident blocks. Max is its critical
// point.
type Level struct {
	Min, Max int // register counts
	Occupancy
}

// Levels lists the levels of the counts from min to max, the highest count first. Counts with which
// the launch fails are in none.
func (d Device) Levels(s Shape, min, max int) []Level {
	if min < 1 {
		min = 1
	}
	if max > d.ThreadRegisters {
		max = d.ThreadRegisters
	}
	var out []Level
	for regs := max; regs >= min; regs-- {
		o := d.Occupancy(regs, s)
		if o.Blocks == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Blocks == o.Blocks {
			out[n-1].Min = regs
			continue
		}
		out = append(out, Level{regs, regs, o})
	}
	return out
}

// CriticalPoints lists the largest count of every level between min and max, descending. The first
// is the largest count that can be launched at all.
func (d Device) CriticalPoints(s Shape, min, max int) []int {
	var out []int
	for _, l := range d.Levels(s, min, max) {
		out = append(out, l.Max)
	}
	return out
}
