package rewrite

import (
	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Streams says of each load that a hint may be given to (the sites of hint@ldN) which array it reads:
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
	w, err := ir.Of(f)
	numbers := make(map[[2]int]int)
	out := make([]int, len(list))
	for k, a := range list {
		out[k] = -1
		if err != nil {
			continue
		}
		index, offset, ok := w.Parameter(w.Inst(a.Stmt).Args[1])
		if !ok {
			continue
		}
		from := [2]int{index, offset}
		n, ok := numbers[from]
		if !ok {
			n = len(numbers)
			numbers[from] = n
		}
		out[k] = n
	}
	return out
}
