package predict

import (
	"math"
	"slices"
	"sort"

	"gnvcc/sim/sass"
)

// A Recorded is what was counted of a kernel's launch, and where each of its instructions comes
// from. Blocks, statements and accesses are those of the PTX; counts are of one warp on average, all
// its runs together.
type Recorded struct {
	Insts    []Origin
	Blocks   []Counted
	Accesses []*Access // to global memory
	// Written is not known: stores that L2 has not are taken for it
	Unwritten bool
}

// An Origin is where an instruction comes from.
type Origin struct {
	Block     int // -1: not known
	Statement int // -1: not known
	// the statement becomes one instruction in each copy of the code (a load, a multiplication), so
	// that copies can be counted by it
	Plain  bool
	Calls  bool    // the statement calls a function
	Access *Access // nil: it is none
	Shared *Access // to shared memory, nil: it is none, or was not counted
}

// A Counted is a block.
type Counted struct {
	Runs   float64
	Called bool // it is of a function that the kernel calls
}

// An Access is one to global or shared memory.
type Access struct {
	Runs  float64 // of its block
	Store bool    // or an atomic operation
	// sectors of 32 bytes that it touches, those that L1 has not, those that L2 has not, lines of 128
	// bytes, and sectors that L2 wrote to memory to make room
	Sectors, L2, Memory, Lines, Written float64
	Turns                               float64 // of a warp, at the banks of shared memory
}

// fits tells whether a record is of that function.
func (c *Recorded) fits(f *sass.Function) bool { return c != nil && len(c.Insts) == len(f.Insts) }

// An origin is of one block of the code: the PTX block that most of its instructions come from, how
// many copies of that it holds, and how often each of its plain statements stands in it.
type origin struct {
	of     int
	copies float64
	plain  map[int]int
}

func (c *Recorded) origin(b sass.Block) origin {
	votes := map[int]int{}
	s := origin{of: -1, copies: 1, plain: map[int]int{}}
	for _, i := range c.Insts[b.Start:b.End] {
		if i.Block >= 0 {
			votes[i.Block]++
		}
	}
	for p, n := range votes {
		if s.of < 0 || n > votes[s.of] || n == votes[s.of] && p < s.of {
			s.of = p
		}
	}
	var counts []int
	for _, i := range c.Insts[b.Start:b.End] {
		if i.Plain && i.Block == s.of {
			s.plain[i.Statement]++
		}
	}
	for _, n := range s.plain {
		counts = append(counts, n)
	}
	if len(counts) > 0 {
		slices.Sort(counts)
		s.copies = float64(counts[len(counts)/2])
	}
	return s
}

// weights is how often each block of the code runs for one warp, by what was counted.
//
// A block has the runs of the PTX block that most of its instructions come from. Where several
// blocks hold copies of one (ptxas unrolls a loop, and leaves another one for the rest) they share
// its runs: one inside a loop takes the whole rounds of as many copies as it holds, what is left is
// the others'. Functions of the code that no function of the PTX is (divisions of odd numbers)
// hardly run, nor does what leads to them: the blocks that apart and leads tell.
func (c *Recorded) weights(flow *sass.Flow, apart, leads func(block int) bool) []float64 {
	out := make([]float64, len(flow.Blocks))
	shares := make([]origin, len(out))
	groups := map[int][]int{}
	for b := range out {
		out[b] = math.NaN()
		if shares[b] = c.origin(flow.Blocks[b]); shares[b].of >= 0 {
			groups[shares[b].of] = append(groups[shares[b].of], b)
		}
	}
	var twice [][]int
	for _, group := range groups {
		for _, part := range together(group, shares) {
			if b := part[0]; len(part) == 1 {
				out[b] = c.Blocks[shares[b].of].Runs / shares[b].copies
			} else {
				twice = append(twice, part)
			}
		}
	}
	sort.Slice(twice, func(i, j int) bool { // outer loops before inner ones
		a, b := flow.Blocks[twice[i][0]].Depth, flow.Blocks[twice[j][0]].Depth
		return a < b || a == b && twice[i][0] < twice[j][0]
	})
	for _, part := range twice {
		c.divide(flow, part, shares, out)
	}
	for b := range out { // nothing is known of it: as often as what leads to it
		if math.IsNaN(out[b]) {
			out[b] = 0
			if d := flow.Dominator(b); d >= 0 && !math.IsNaN(out[d]) {
				out[b] = out[d]
			}
		}
		switch of := shares[b].of; {
		case !flow.Reached(b): // padding behind the last instruction
			out[b] = 0
		case (of < 0 || !c.Blocks[of].Called) && (apart(b) || len(shares[b].plain) == 0 && leads(b)):
			out[b] *= rare
		}
	}
	return out
}

// together parts blocks of one origin by whether they have a plain statement in common: those that
// have are copies, others are pieces.
func together(group []int, shares []origin) [][]int {
	var out [][]int
	for _, b := range group {
		joined := []int{b}
		var rest [][]int
		for _, part := range out {
			if slices.ContainsFunc(part, func(o int) bool { return common(shares[b], shares[o]) }) {
				joined = append(part, joined...)
			} else {
				rest = append(rest, part)
			}
		}
		out = append(rest, joined)
	}
	return out
}

func common(a, b origin) bool {
	for s := range a.plain {
		if b.plain[s] > 0 {
			return true
		}
	}
	return false
}

// divide deals the runs of one PTX block out to the blocks that hold copies of it: those in loops
// first, of these the ones with most copies.
func (c *Recorded) divide(flow *sass.Flow, part []int, shares []origin, out []float64) {
	sort.SliceStable(part, func(i, j int) bool {
		a, b := part[i], part[j]
		if x, y := flow.Blocks[a].Depth, flow.Blocks[b].Depth; x != y {
			return x > y
		}
		return shares[a].copies > shares[b].copies
	})
	left := c.Blocks[shares[part[0]].of].Runs
	for n, b := range part {
		most := left / shares[b].copies
		entries := math.NaN()
		if h := flow.Blocks[b].Header; h >= 0 {
			if d := flow.Dominator(h); d >= 0 {
				entries = out[d]
			}
			if entries > 0 {
				most = entries * math.Floor(left/entries/shares[b].copies)
			}
		} else if d := flow.Dominator(b); d >= 0 && out[d] < most {
			most = out[d]
		}
		if n == len(part)-1 {
			most = left / shares[b].copies
		}
		out[b] = most
		left -= most * shares[b].copies
	}
}

// run is what one run of an access has of a count.
func (a *Access) run(count float64) float64 {
	if a.Runs > 0 {
		return count / a.Runs
	}
	return 0
}

// level gives the chances that a run of an access waits for L2, and for memory: one sector of its
// warp's is enough.
func (a *Access) level() (l2, memory float64) {
	return min(1, a.run(a.L2)), min(1, a.run(a.Memory))
}

// rowTurns is how many turns of L1 a run of an access takes: one a line. A single row that lies
// across a line more than it fills takes no turn for that (an H200: 12.2 million turns of 21.9
// million lines in a stencil whose rows are shifted). full is how many sectors the lanes fill.
func (a *Access) rowTurns(full float64) float64 {
	lines, beside := a.run(a.Lines), a.run(a.Sectors)-full
	if full >= 4 && beside > 0 && beside <= 1 {
		lines -= beside
	}
	return lines
}

// more is how many sectors a run of an access brings from L2, and from memory, beside the first.
func (a *Access) more() (l2, memory float64) {
	beside := func(sectors float64) float64 { return min(max(0, sectors-1), mostMore) }
	return beside(a.run(a.L2)), beside(a.run(a.Memory))
}

// turns is how many turns a run of an access to shared memory takes, 0: not known.
func (c *Recorded) turns(k int) float64 {
	if c == nil || c.Insts[k].Shared == nil {
		return 0
	}
	return c.Insts[k].Shared.run(c.Insts[k].Shared.Turns)
}
