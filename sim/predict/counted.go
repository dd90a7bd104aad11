package predict

import (
	"math"
	"slices"
	"sort"

	"gnvcc/sim/sass"
)

// A Recorded is what was counted of a kernel's launch, and where each of its instructions comes
// from. Blocks, statements and accesses are those of the PTX.
type Recorded struct {
	Block     []int // by instruction: the block that it comes from, -1: not known
	Statement []int // by instruction: the statement, -1: not known
	// by instruction: its statement becomes one instruction in each copy of the code (a load, a
	// multiplication), so that copies can be counted by it
	Plain  []bool
	Access []int  // by instruction: the access, -1: it is none
	Calls  []bool // by instruction: it is of a statement that calls a function
	// by block: runs by a warp; and by access: sectors of 32 bytes that it touches, those that L1 has
	// not, those that L2 has not, and lines of 128 bytes; all of one warp on average, all its runs
	// together
	Runs, Sectors, L2, Memory, Lines []float64
	// by access: sectors that L2 wrote to memory to make room; nil: not known, then stores that L2 has
	// not are taken for it
	Written []float64
	Stores  []bool // by access: it is a store, or an atomic operation
	Called  []bool // by block: it is of a function that the kernel calls
	In      []int  // by access: its block
	// by instruction: the access to shared memory, -1: it is none, and by that: turns of its warp;
	// Turns is nil where they were not counted
	Shared []int
	Turns  []float64
	TurnIn []int // by access to shared memory: its block
}

// fits tells whether a record is of that function.
func (c *Recorded) fits(f *sass.Function) bool {
	n := len(f.Insts)
	return c != nil && len(c.Block) == n && len(c.Statement) == n && len(c.Plain) == n &&
		len(c.Access) == n && len(c.Calls) == n
}

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
	for k := b.Start; k < b.End; k++ {
		if c.Block[k] >= 0 {
			votes[c.Block[k]]++
		}
	}
	for p, n := range votes {
		if s.of < 0 || n > votes[s.of] || n == votes[s.of] && p < s.of {
			s.of = p
		}
	}
	var counts []int
	for k := b.Start; k < b.End; k++ {
		if c.Plain[k] && c.Block[k] == s.of {
			s.plain[c.Statement[k]]++
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
				out[b] = c.Runs[shares[b].of] / shares[b].copies
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
		case (of < 0 || !c.Called[of]) && (apart(b) || len(shares[b].plain) == 0 && leads(b)):
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
	left := c.Runs[shares[part[0]].of]
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

// level gives the chances that a run of an access waits for L2, and for memory: one sector of its
// warp's is enough.
func (c *Recorded) level(access int) (l2, memory float64) {
	runs := c.Runs[c.In[access]]
	if runs <= 0 {
		return 0, 0
	}
	return min(1, c.L2[access]/runs), min(1, c.Memory[access]/runs)
}

// rowTurns is how many turns of L1 a run of an access takes: one a line. A single row that lies
// across a line more than it fills takes no turn for that (an H200: 12.2 million turns of 21.9
// million lines in a stencil whose rows are shifted). full is how many sectors the lanes fill.
func (c *Recorded) rowTurns(access int, full float64) float64 {
	lines := c.lines(access)
	runs := c.Runs[c.In[access]]
	if runs <= 0 || full < 4 {
		return lines
	}
	if beside := c.Sectors[access]/runs - full; beside > 0 && beside <= 1 {
		lines -= beside
	}
	return lines
}

// more is how many sectors a run of an access brings from L2, and from memory, beside the first.
func (c *Recorded) more(access int) (l2, memory float64) {
	runs := c.Runs[c.In[access]]
	if runs <= 0 {
		return 0, 0
	}
	beside := func(sectors float64) float64 { return min(max(0, sectors/runs-1), mostMore) }
	return beside(c.L2[access]), beside(c.Memory[access])
}

// turns is how many turns a run of an access to shared memory takes, 0: not known.
func (c *Recorded) turns(k int) float64 {
	if c == nil || len(c.Shared) <= k || c.Shared[k] < 0 || c.Shared[k] >= len(c.Turns) {
		return 0
	}
	if runs := c.Runs[c.TurnIn[c.Shared[k]]]; runs > 0 {
		return c.Turns[c.Shared[k]] / runs
	}
	return 0
}

// lines is how many lines of L1 a run of an access touches.
func (c *Recorded) lines(access int) float64 {
	if runs := c.Runs[c.In[access]]; runs > 0 {
		return c.Lines[access] / runs
	}
	return 0
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}
