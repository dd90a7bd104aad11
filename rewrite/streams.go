package rewrite

import (
	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Streams tells of each load that a hint may be given to (the sites of ld@N) which array it reads:
// loads with the same number read through the same pointer argument, -1 where that isn't known.
// Numbers go from 0 in the order of the text.
//
// An address is followed back through additions, moves and conversions to the parameter that it
// begins with. What is multiplied or shifted on the way is an index, and not followed; neither is
// what comes from memory: a pointer in a structure in memory is no argument.
func Streams(f *ptx.Func) []int {
	list := pass.Accesses(f, "ld")
	if len(list) == 0 {
		return nil
	}
	origins := dataflow.OriginsOf(f)
	numbers := make(map[string]int)
	out := make([]int, len(list))
	for k, a := range list {
		out[k] = -1
		base, _, _ := f.Address(f.Operands(a.Stmt, nil)[1])
		index, offset, ok := origins.Parameter(string(base))
		if !ok {
			continue
		}
		from := index + "+" + offset
		n, ok := numbers[from]
		if !ok {
			n = len(numbers)
			numbers[from] = n
		}
		out[k] = n
	}
	return out
}
