package check

import (
	"fmt"

	"gnvcc/cache"
	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/ptx"
)

const (
	// Kinds are those of varied data (profile/replay/source/vary.c); variations count through them.
	Kinds = 10
	// Draws of each kind: see the package's comment.
	Draws = 3
)

// Floating lists the basic blocks in which a kernel computes in floating point, by their numbers
// among its counters.
func Floating(c counters.Counters) (blocks []int) {
	c.Every(func(n int, b counters.Block) {
		for i := b.Block.First; i < b.Block.Last; i++ {
			if b.Stmts[i].Kind == ptx.Inst && computes(b.Opcode(i), string(b.Base(i))) {
				blocks = append(blocks, n)
				return
			}
		}
	})
	return blocks
}

// computes reports an instruction that rounds, or chooses between numbers.
func computes(op []byte, base string) bool {
	switch base {
	case "ld", "st", "ldu", "mov", "selp", "atom", "red", "shfl", "tex", "tld4", "suld", "sust":
		return false
	}
	for _, t := range []string{"f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2"} {
		if ptx.HasModifier(op, t) {
			return true
		}
	}
	return false
}

// A Coverage says what of a kernel ran in the launches that were checked.
type Coverage struct {
	Counted  bool // of at least one launch it is known
	Floating int  // basic blocks with floating-point arithmetic
	NotRun   int  // those of them that no counted launch ran
}

// CoverageOf sums up what was counted in a decision's launches.
func CoverageOf(launches []cache.Launch) (c Coverage) {
	ran := map[int]bool{}
	var floating []int
	for _, l := range launches {
		if l.Counts == nil || l.Checked == 0 {
			continue
		}
		c.Counted, floating = true, l.Counts.Floating
		for _, n := range floating {
			ran[n] = ran[n] || n < len(l.Counts.Blocks) && l.Counts.Blocks[n] > 0
		}
	}
	c.Floating = len(floating)
	for _, n := range floating {
		if !ran[n] {
			c.NotRun++
		}
	}
	return c
}

// Sentence says what of a checked recipe's kernel was not checked, "" where everything ran and data
// was varied. varied is on how many launches with varied data it was.
func Sentence(launches []cache.Launch, varied int) string {
	var text string
	if varied == 0 {
		text = "its data could not be varied"
	}
	c := CoverageOf(launches)
	switch {
	case !c.Counted:
		return join(text, "which of its blocks ran was not counted")
	case c.NotRun > 0:
		return join(text, fmt.Sprintf("%d of %d blocks with floating-point arithmetic did not run",
			c.NotRun, c.Floating))
	}
	return text
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
