package predict

import "math"

// What a cache hint is worth can't be read from machine code: the code is the same but for the
// hint. It can be told by how the launch's accesses lie, where that was counted. So there is a
// table: for each class of accesses, the mean of what a hint has gained in kernels of that class.
//
// A class is by two numbers: which part of the lines that a warp touches it uses (a sector of the
// four, some, or all), and how many of the sectors come from memory. Of all hints on all loads and
// stores only one thing was worth anything as a rule: a larger piece from L2, where warps use a
// part of each line and memory brings many sectors. What a warp leaves of a line then belongs to
// its neighbours, who come soon. Scattered accesses may lose by the same hint (1.4 times the time).

// A Traffic is what the accesses of a launch touch, as counted.
type Traffic struct {
	Sectors float64 // of 32 bytes
	Memory  float64 // of these, what L2 has not
	Lines   float64 // of 128 bytes: each warp's for itself
}

// worths are means of log time over the default's: of kernels of the programs of half a of HeCBench
// on an H200 (bench/results/2026-11-22-predict), means of programs' means, with two programs more
// that gain nothing; only what gains over 1 % is here. All seven kernels of this class gained, 1 %
// and more with 256 bytes, 0.5 % and more with 128.
var worths = map[string]float64{"L2::256B": -0.0415, "L2::128B": -0.0368}

// HintsFor are the values of the lever ld that are worth something for such accesses, the best
// first.
func (t Traffic) HintsFor() []string {
	const (
		fewest, most = 1.15, 2.6 // sectors of a line that a warp uses
		memory       = 0.15      // of the sectors
	)
	if t.Lines <= 0 || t.Sectors < fewest*t.Lines || t.Sectors > most*t.Lines ||
		t.Memory < memory*t.Sectors {
		return nil
	}
	return []string{"L2::256B", "L2::128B"}
}

// Worth is what a hint on all loads does to the time, 1 where nobody knows.
func (t Traffic) Worth(value string) float64 {
	for _, v := range t.HintsFor() {
		if v == value {
			return math.Exp(worths[v])
		}
	}
	return 1
}
