package source

// Unrolling: `#pragma unroll N` before a loop.
//
//	for (int i = 0; i < n; i++)            #pragma unroll 4
//	                                       # 7 "x.cu"
//	                                       for (int i = 0; i < n; i++)
//
// unroll=N takes every for of the kernel and of the user's device functions that it reaches, and
// that has no pragma of its own; unroll@SITE=N one loop, which wins over the former, and over
// the loop's own pragma: of several that stand before a for cicc goes by the last (11.8 to 13.5,
// TestNearest). N = full is the pragma without a number: complete, where the count is known. An
// unrolling factor is a hint, the loop means what it meant. cicc takes it anywhere before a for,
// also between `else` and `for`.

import (
	"strconv"
	"strings"

	"gnvcc/rewrite/recipe"
)

// maxUnroll bounds factors: above it LLVM takes minutes and nothing gains.
const maxUnroll = 1024

// maxLoops bounds the loops of a kernel that are changed: many on one line of the text would take
// long.
const maxLoops = 1024

// unrollEdits turns the unroll terms into insertions.
func (k *Kernel) unrollEdits(terms []recipe.Term) ([]insertion, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	if k.NoUnroll != "" {
		return nil, refuse(k.label(), "%s", k.NoUnroll)
	}
	general := ""
	bySite := map[string]string{}
	for _, t := range terms {
		if t.Value != "full" {
			n, err := strconv.Atoi(t.Value)
			if err != nil || n < 1 || n > maxUnroll || strconv.Itoa(n) != t.Value {
				return nil, refuse(k.label(), "%s: a factor is full or 1 to %d", t, maxUnroll)
			}
		}
		if t.Site == "" {
			general = t.Value
		} else {
			bySite[t.Site] = t.Value
		}
	}
	var edits []insertion
	for _, l := range k.Loops {
		if l.Site == "" { // before the first marker: it could not be given its line back
			continue
		}
		value, named := bySite[l.Site]
		delete(bySite, l.Site)
		if !named {
			value = general
			if value == "" || l.Kind != "for" || l.Pragma {
				continue
			}
		}
		if named && l.Kind != "for" {
			return nil, refuse(k.label(), "the loop at %s is a %s: only for loops are unrolled", l.Site,
				l.Kind)
		}
		if l.l.pragma >= 0 && k.u.tokens[l.l.pragma].kind == '[' {
			return nil, refuse(k.label(), "the loop at %s has an unroll attribute", l.Site)
		}
		line := "\n#pragma unroll"
		if value != "full" {
			line += " " + value
		}
		edits = append(edits, insertion{off: int(k.u.tokens[l.l.at].off), text: line})
	}
	for site := range bySite {
		var have []string
		for _, l := range k.Loops {
			have = append(have, l.Site)
		}
		return nil, refuse(k.label(), "no loop at %s (there are: %s)", site, strings.Join(have, " "))
	}
	if len(edits) > maxLoops {
		return nil, refuse(k.label(), "it has %d loops, and %d are the most that are changed", len(edits),
			maxLoops)
	}
	if len(edits) == 0 {
		return nil, refuse(k.label(), "no loop to unroll")
	}
	return edits, nil
}
