package pass

import (
	"fmt"
	"strings"

	"gnvcc/rewrite/recipe"
)

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
	n, exact := k.Threads()
	if n <= 0 || n > MaxThreads {
		return Block{Threads: MaxThreads}
	}
	if args, ok := k.Directive(".reqntid"); ok && exact {
		d := [3]int{1, 1, 1}
		for i, word := range strings.Split(args, ",") {
			if i < 3 {
				d[i], _ = recipe.Number(strings.TrimSpace(word), 1, MaxThreads)
			}
		}
		if d[0]*d[1]*d[2] == n {
			return Block{n, d}
		}
	}
	return Block{Threads: n}
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
