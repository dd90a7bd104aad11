package cubin

// Registers of a kernel in a file that is still to be linked (-rdc=true). There each function has
// a count of its own, and nvlink gives a kernel the largest of all that it calls: that is what a
// launch needs. Of other objects' functions nothing is known, nor of weak ones, for which nvlink
// may take another object's.

// weak is the binding of a symbol of which nvlink takes one object's.
const weak = 2

// linked gives kernels as many registers as the functions of their file have that they call.
func (f *File) linked(c *container, byName map[string]*section, at map[uint32]int) {
	all, calls := byName[".nv.info"], byName[".nv.callgraph"]
	if !f.Relocatable || all == nil || calls == nil {
		return
	}
	count := map[uint32]int{}
	records(all.data, func(attr byte, value []byte) {
		if attr == attrRegisters && len(value) >= 8 {
			count[word(value, 0)] = number(uint64(word(value, 1)))
		}
	})
	callees := map[uint32][]uint32{}
	for i := 0; i+8 <= len(calls.data); i += 8 { // callees from -4 to -1 are marks
		caller, callee := word(calls.data[i:], 0), word(calls.data[i:], 1)
		if callee < uint32(len(c.symbols)) && c.symbols[callee].bind != weak {
			callees[caller] = append(callees[caller], callee)
		}
	}
	for kernel, i := range at {
		seen, todo := map[uint32]bool{kernel: true}, []uint32{kernel}
		for len(todo) > 0 {
			next := todo[0]
			todo = todo[1:]
			f.Kernels[i].Registers = max(f.Kernels[i].Registers, count[next])
			for _, callee := range callees[next] {
				if !seen[callee] {
					seen[callee] = true
					todo = append(todo, callee)
				}
			}
		}
	}
}
