package sass

// Addend is the index of the instruction that gives a multiply-add in single or double precision
// what it adds: the last one before it in its block that writes those registers. -1 where that is
// not known: it writes others, too, or not always; an unknown instruction or a call stands between
// the two; what is added is no general register's.
func (f *Function) Addend(flow *Flow, n int) int {
	size := uint8(1)
	switch f.Insts[n].Name() {
	case "FFMA":
	case "DFMA":
		size = 2
	default:
		return -1
	}
	switch f.Insts[n].Form() {
	case 1, 4, 5, 6: // the others have a factor there
	default:
		return -1
	}
	added := Span{General, uint8(f.Insts[n].bits(64, 8)), size}
	if f.Insts[n].zero(General, uint64(added.First)) {
		return -1
	}
	for k := n - 1; k >= flow.Blocks[flow.Block(n)].Start; k-- {
		i := &f.Insts[k]
		if i.op == nil || i.Name() == "CALL" {
			return -1
		}
		for _, w := range i.Writes() {
			switch {
			case w == added && len(i.Writes()) == 1 && i.unguarded():
				return k
			case w.meets(added):
				return -1
			}
		}
	}
	return -1
}

// meets tells whether two spans have a register in common.
func (s Span) meets(t Span) bool {
	return s.File == t.File && int(s.First) < int(t.First)+int(t.N) &&
		int(t.First) < int(s.First)+int(s.N)
}
