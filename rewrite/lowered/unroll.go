package lowered

// Unrolling: `#pragma unroll N` before a for.
//
// unroll=N takes every for of the kernel and of the user's device functions that it reaches, and
// that has no pragma of its own; unroll@SITE=N one loop, which wins over the former, and over
// the loop's own pragma: of several that stand before a for cicc goes by the last (11.8 to 13.5).
// N = full is complete, where the count is known: 2147483647, as the front end writes it. An
// unrolling factor is a hint, the loop means what it meant.

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"gnvcc/rewrite/recipe"
)

// maxUnroll bounds factors: above it LLVM takes minutes and nothing gains.
const maxUnroll = 1024

// unrollEdits turns the unroll terms into insertions.
func (k *Kernel) unrollEdits(terms []recipe.Term) ([]edit, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	if k.NoUnroll != "" {
		return nil, refuse(k.Entry, "%s", k.NoUnroll)
	}
	general := ""
	bySite := map[string]string{}
	for _, t := range terms {
		value := t.Value
		if value == "full" {
			value = "2147483647"
		} else if n, err := strconv.Atoi(value); err != nil || n < 1 || n > maxUnroll ||
			strconv.Itoa(n) != value {
			return nil, refuse(k.Entry, "%s: a factor is full or 1 to %d", t, maxUnroll)
		}
		if t.Site == "" {
			general = value
		} else {
			bySite[t.Site] = value
		}
	}
	var edits []edit
	for _, l := range k.Loops {
		value, named := bySite[l.Site]
		delete(bySite, l.Site)
		if !named {
			if value = general; value == "" || l.Kind != "for" || l.Pragma {
				continue
			}
		}
		if l.Kind != "for" {
			return nil, refuse(k.Entry, "the loop at %s is a %s: only for loops are unrolled", l.Site, l.Kind)
		}
		text := "\n#pragma unroll " + value + "\n"
		if l.File != "" {
			text += fmt.Sprintf("# %d %q\n", l.Line, filepath.ToSlash(l.File))
		}
		edits = append(edits, edit{off: k.u.tokens[l.at].off, text: text})
	}
	for site := range bySite {
		var have []string
		for _, l := range k.Loops {
			have = append(have, l.Site)
		}
		return nil, refuse(k.Entry, "no loop at %s (there are: %s)", site, strings.Join(have, " "))
	}
	if len(edits) == 0 {
		return nil, refuse(k.Entry, "no loop to unroll")
	}
	return edits, nil
}
