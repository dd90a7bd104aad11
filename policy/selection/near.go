package selection

import (
	"cmp"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
)

// mostNear is how many names are proposed.
const mostNear = 3

// near gives the names of kernels that are most like a word: those from which it differs in no more
// than a third of its letters, or that begin as it does.
func near(word string, names []string) []string {
	type one struct {
		name     string
		distance int
	}
	var found []one
	word = strings.ToLower(bare(word))
	for _, n := range names {
		short := ptx.ShortName(n)
		d := len(word)
		plain := withoutArguments(bare(short))
		for _, form := range []string{bare(short), plain, last(plain)} {
			if form = strings.ToLower(form); len(form) < 4*len(word)+8 { // else not like it
				d = min(d, Distance(word, form))
			}
			if strings.HasPrefix(form, word) {
				d = min(d, 1)
			}
		}
		if d <= max(1, len(word)/3) {
			found = append(found, one{short, d})
		}
	}
	slices.SortFunc(found, func(a, b one) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	found = slices.Compact(found)
	var out []string
	for _, f := range found[:min(mostNear, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// Distance is how many letters two words differ by: Levenshtein's, with two in the
// wrong order as one (Damerau 1964).
func Distance(a, b string) int {
	before, row := []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			wrong := 1
			if a[i] == b[j] {
				wrong = 0
			}
			next[j+1] = min(row[j]+wrong, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
