package main

// Edits that look wrong and are not, though their machine code is another: each was read, and is
// told here why nothing can come of it. They are left out before anything is judged; most were seen
// to be so since judge had called them equal.

// A reason is for an edit of a kernel, as main prints it.
type reason struct{ kernel, line, why string }

var equivalent = []reason{
	{"blocksize/product", "line 10: .x -> .y",
		"blocks are square: with any other the original reads shared memory that nobody has written"},
	{"exchange/exchange", "line 11: < -> <=",
		"three comparisons: the example launches side threads in each dimension, none beyond"},
	{"potential/potential", "line 14: c.y - y -> y - c.y",
		"the difference is squared alone, and its sign is all that changes"},
	{"potential/potential", "line 14: c.x - x -> x - c.x",
		"the difference is squared alone, and its sign is all that changes"},
	{"stars/light", "line 16: p.x - star.x -> star.x - p.x",
		"the difference is squared alone, and its sign is all that changes"},
	{"stars/light", "line 16: p.y - star.y -> star.y - p.y",
		"the difference is squared alone, and its sign is all that changes"},
	{"wavefront/barriers", "line 83: - -> +",
		"more turns, in which no warp has a part left: the comparison below says so"},
	{"wavefront/barriers", "line 85: < -> <=",
		"one part more, in which all columns lie behind the last one"},
	{"wavefront/barriers", "line 83: + 1 -> + 2",
		"more turns, in which no warp has a part left: the comparison below says so"},
	{"wavefront/barriers", "line 83: < -> <=",
		"one turn more, in which no warp has a part left: the comparison below says so"},
}

// isEquivalent tells of an edit.
func isEquivalent(kernel string, e edit) bool {
	for _, r := range equivalent {
		if r.kernel == kernel && r.line == e.line {
			return true
		}
	}
	return false
}
