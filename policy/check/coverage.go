package check

import (
	"fmt"
	"strings"

	"gnvcc/cache"
	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/ptx"
)

const (
	// Kinds are those of varied data (profile/replay/source/vary.c); variations count through them.
	Kinds = 10
	// Draws of each kind. One where time is short; a second one where the budget allows it: it refuses
	// none of 2,145 variants that the first accepts (bench/results/2026-11-28-keep), and found two of
	// three that the first had missed of 34 known ones.
	Draws = 2
)

// Floating lists the basic blocks in which a kernel computes in floating point, by their numbers
// among its counters, and those in which it stores anything: what is not stored is not compared.
// Of a kernel that computes nothing there are none.
func Floating(c counters.Counters) (blocks []int) {
	some := false
	for n, b := range c {
		counts := false
		for i := b.Block.First; i < b.Block.Last; i++ {
			if b.Stmts[i].Kind != ptx.Inst {
				continue
			}
			op, base := b.Opcode(i), string(b.Base(i))
			computes := computes(op, base)
			some = some || computes
			counts = counts || computes || base == "atom" || base == "red" ||
				base == "st" && ptx.Space(op) != "param" && ptx.Space(op) != "local"
		}
		if counts {
			blocks = append(blocks, n)
		}
	}
	if !some {
		return nil
	}
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
	Floating int  // basic blocks with floating-point arithmetic, or stores (Floating)
	NotRun   int  // those of them that no counted launch ran
}

// CoverageOf sums up what was counted in checked launches; nil: that one was not counted.
func CoverageOf(launches []*cache.Counts) (c Coverage) {
	ran := map[int]bool{}
	var floating []int
	for _, l := range launches {
		if l == nil {
			continue
		}
		c.Counted, floating = true, l.Floating
		for _, n := range floating {
			ran[n] = ran[n] || n < len(l.Blocks) && l.Blocks[n] > 0
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

// Unchecked says what of a kernel's arithmetic did not run, "" where all of it did.
func (c Coverage) Unchecked() string {
	switch {
	case !c.Counted:
		return "code coverage was not measured"
	case c.NotRun > 0:
		return fmt.Sprintf("%d of %d basic blocks with floating-point arithmetic or stores did not run in the checked launches",
			c.NotRun, c.Floating)
	}
	return ""
}

// Sentence says what of a checked recipe's kernel was not checked, "" where everything ran and data
// was varied. varied is on how many launches with varied data it was; serves says which launches
// the recipe serves, "" for all.
func Sentence(launches []cache.Launch, varied int, serves string) string {
	var text []string
	if varied == 0 {
		text = append(text, "input data could not be varied")
	}
	var counts []*cache.Counts
	for _, l := range launches {
		if l.Checked > 0 {
			counts = append(counts, l.Counts)
		}
	}
	why := CoverageOf(counts).Unchecked()
	if serves != "" {
		if why != "" {
			why += ": "
		}
		why += "used only for launches with " + serves
	}
	if why != "" {
		text = append(text, why)
	}
	return strings.Join(text, "; ")
}
