package check

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/cache"
)

// A Coverage says which launches a checked recipe may serve, by what ran in those that were checked.
type Coverage struct {
	Counted bool // of at least one launch it is known, of nvcc's code and of the recipe's
	Wanted  int  // counters that have to run (Counted)
	NotRun  int  // those of them that no counted launch ran
	Data    int  // of these, those that a launch with the same arguments may run
	Pins    [][3]int
}

// CoverageOf sums up what was counted in checked launches of nvcc's own code, and of the code of a
// recipe; nil: that one was not counted.
func CoverageOf(own, chosen []*cache.Counts) (c Coverage) {
	c.Counted = true
	both := [][]*cache.Counts{own, chosen}
	for i, list := range both {
		codes := map[string][]*cache.Counts{}
		for _, l := range list {
			if l != nil && l.Rule == Rule {
				codes[l.Code] = append(codes[l.Code], l)
			}
		}
		c.Counted = c.Counted && len(codes) > 0
		for _, launches := range codes {
			c.add(launches, both[1-i])
		}
	}
	return c
}

// add enters launches of the same code. What the other code has in the same form computes the same.
func (c *Coverage) add(launches, others []*cache.Counts) {
	form := map[string]bool{}
	for _, l := range others {
		if l != nil && l.Code != launches[0].Code {
			for _, f := range l.Forms {
				form[f] = f != ""
			}
		}
	}
	ran := func(n int) bool {
		return slices.ContainsFunc(launches, func(l *cache.Counts) bool { return n < len(l.Blocks) && l.Blocks[n] > 0 })
	}
	for k, n := range launches[0].Wanted {
		c.Wanted++
		if ran(n) || k < len(launches[0].Forms) && form[launches[0].Forms[k]] {
			continue
		}
		c.NotRun++
		if slices.ContainsFunc(launches, func(l *cache.Counts) bool { return slices.Contains(l.Data, n) }) {
			c.Data++
		}
	}
	for _, p := range launches[0].Pins {
		if !slices.Contains(c.Pins, p) {
			c.Pins = append(c.Pins, p)
		}
	}
}

// Pinned reports whether launches with other values than a checked one's at a place of the arguments
// have to run nvcc's own code; index -1, -2: the block, the grid.
func (c Coverage) Pinned(index, offset, bytes int) bool {
	return c.Unchecked() != "" || slices.ContainsFunc(c.Pins, func(p [3]int) bool {
		return p[0] == index && p[1] < offset+bytes && offset < p[1]+max(p[2], 1)
	})
}

// Unchecked says what of a kernel's arithmetic did not run, "" where all of it did.
func (c Coverage) Unchecked() string {
	switch {
	case !c.Counted:
		return "code coverage was not measured"
	case c.NotRun > 0:
		return fmt.Sprintf("%d of %d places in its code that compute, store or select did not run in the checked launches",
			c.NotRun, c.Wanted)
	}
	return ""
}

// Never says why even launches with the same arguments have to run nvcc's own code, "" where they
// need not.
func (c Coverage) Never() string {
	if c.Data == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d places in its code that compute, store or select did not run in the checked launches, and data alone decides whether they do",
		c.Data, c.Wanted)
}

// Sentence says what of a checked recipe's kernel was not checked, "" where everything ran and data
// was varied. varied is on how many launches with varied data it was; serves says which launches
// the recipe serves, "" for all.
func Sentence(launches []cache.Launch, varied int, serves string) string {
	var text []string
	if varied == 0 {
		text = append(text, "input data could not be varied")
	}
	var own, chosen []*cache.Counts
	for _, l := range launches {
		if n := fmt.Sprintf("data was varied in %d of %d arrays", l.Arrays[0], l.Arrays[1]); varied > 0 && l.Checked > 0 &&
			l.Arrays[0] < l.Arrays[1] && !slices.Contains(text, n) {
			text = append(text, n)
		}
		if l.Checked > 0 {
			own, chosen = append(own, l.Counts), append(chosen, l.Chosen)
		}
	}
	why := CoverageOf(own, chosen).Unchecked()
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
