package sass

import "strings"

// Programmatic dependent launch: a grid that begins while the one before it in its stream still
// runs waits for that one's end by ACQBULK (PTX: griddepcontrol.wait). What it does with memory
// that others write belongs behind the wait. ptxas lets loads that stand before it in the PTX sink
// behind it, and was not seen to lift any (one file of kernels: 12.4 read whole, 13.0 in part). A
// copy behind a guard had texture fetches in front of it (13.0). This reports both.

// BeforeWait counts the accesses to global memory, and what may be one, that can be reached without
// a wait on the way. waits is false where the function has none.
func (f *Function) BeforeWait() (accesses int, waits bool) {
	flow := f.Flow()
	seen := make([]bool, len(flow.Blocks))
	first := make([][2]int, len(flow.Blocks)) // a block's instructions, [0] to [1]
	for n := range f.Insts {
		b := flow.Block(n)
		if first[b][1] == 0 {
			first[b][0] = n
		}
		first[b][1] = n + 1
		waits = waits || f.Insts[n].Name() == "ACQBULK"
	}
	if !waits || len(flow.Blocks) == 0 {
		return 0, waits
	}
	for todo := []int{0}; len(todo) > 0; {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[b] {
			continue
		}
		seen[b] = true
		waited := false
		for n := first[b][0]; n < first[b][1] && !waited; n++ {
			i := &f.Insts[n]
			waited = i.Name() == "ACQBULK" && i.unguarded()
			if f.within(i) {
				todo = append(todo, flow.Block(i.Target/wordBytes))
			} else if i.reachesOut() {
				accesses++
			}
		}
		if !waited {
			todo = append(todo, flow.Blocks[b].Next...)
		}
	}
	return accesses, true
}

// reachesOut reports an instruction that may access memory of other grids: a called function of
// another section may, and one that is not known.
func (i *Inst) reachesOut() bool {
	switch i.Class() {
	case Unknown, Texture:
		return true
	case Load, Store, Atomic:
		return i.Space() != Shared && i.Space() != Local
	}
	// bulk copies and those of the tensor memory accelerator count as "other"
	name := i.Name()
	return name == "CALL" || strings.HasPrefix(name, "UBLK") || strings.HasPrefix(name, "UTMA")
}
