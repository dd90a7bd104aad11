package pass

import "fmt"

// What is known of the blocks that an entry is launched with.

// A Block is what is known of the blocks that an entry is launched with.
type Block struct {
	Threads int    // at most
	Exact   [3]int // the block, where it is known; else zeros
}

func BlockOf(k *Kernel) Block {
	known := func(d [3]int) bool { n := d[0] * d[1] * d[2]; return n > 0 && n <= MaxThreads }
	if d := k.Options.Blocks[k.Name]; known(d) {
		return Block{d[0] * d[1] * d[2], d}
	}
	switch d, exact := k.Bounds(); {
	case !known(d):
		return Block{Threads: MaxThreads}
	case exact:
		return Block{d[0] * d[1] * d[2], d}
	default:
		return Block{Threads: d[0] * d[1] * d[2]}
	}
}

// Index writes the thread's linear index into register `to`; other is a register for use in
// between.
func (b Block) Index(to, other string) []string {
	x, y, z := b.Exact[0], b.Exact[1], b.Exact[2]
	text := `
		mov.u32 TO, %tid.z;
		mov.u32 OTHER, %ntid.y;
		mul.lo.u32 TO, TO, OTHER;
		mov.u32 OTHER, %tid.y;
		add.u32 TO, TO, OTHER;
		mov.u32 OTHER, %ntid.x;
		mul.lo.u32 TO, TO, OTHER;
		mov.u32 OTHER, %tid.x;
		add.u32 TO, TO, OTHER;`
	row := `
		mov.u32 OTHER, %tid.x;
		mad.lo.u32 TO, TO, X, OTHER;`
	switch {
	case x == 0: // not known
	case y == 1 && z == 1:
		text = "mov.u32 TO, %tid.x;"
	case z == 1:
		text = "mov.u32 TO, %tid.y;" + row
	default:
		text = `
		mov.u32 TO, %tid.z;
		mov.u32 OTHER, %tid.y;
		mad.lo.u32 TO, TO, Y, OTHER;` + row
	}
	return Fill(text, "TO", to, "OTHER", other, "X", fmt.Sprint(x), "Y", fmt.Sprint(y))
}
