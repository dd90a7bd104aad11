package source

// Several kernels rewritten in one text, so that one run of cicc gives them all.
//
// Two rewrites go together where neither changes what the other one's kernel is made of: bodies of
// different kernels, and in every device function that both kernels reach the same is wanted of
// each loop and of each call. Instantiations of one template go together where the same is wanted
// of all. Two sets of values for one body never do: each is a text of its own.
//
// That the text of a kernel is the same does not make its code the same: whether LLVM puts a device
// function into its callers depends on how many there are. So the caller compares each kernel's PTX
// with what it was when it was compiled alone.

import (
	"fmt"
	"slices"

	"gnvcc/rewrite/recipe"
)

// A Request is one kernel of several.
type Request struct {
	Entry     string
	Terms     []recipe.Term
	Signature []string
}

// Together spreads requests over as few texts as it can find; each text comes with the indices of
// the requests that it holds. A request that is refused by itself is in none.
func (u *Unit) Together(requests []Request) (texts []Joint) {
	type candidate struct {
		work  *work
		index int
		edits map[int]string // by offset
	}
	var all []candidate
	for i, r := range requests {
		k, err := u.Kernel(r.Entry)
		if err != nil {
			continue
		}
		w, err := k.work(r.Terms, r.Signature)
		if err != nil {
			continue
		}
		all = append(all, candidate{w, i, w.byOffset()})
	}
	disturbs := func(a, b candidate) bool {
		for off, text := range a.edits {
			if other, both := b.edits[off]; both && other != text || !both && b.work.k.reaches(off) {
				return true
			}
		}
		return false
	}
	conflicts := func(a, b candidate) bool {
		if disturbs(a, b) || disturbs(b, a) {
			return true
		}
		return a.work.k.f == b.work.k.f && a.work.copy != b.work.copy
	}
	// Those with most conflicts choose first (Welsh and Powell, 1967).
	degree := map[int]int{}
	for _, a := range all {
		for _, b := range all {
			if a.index != b.index && conflicts(a, b) {
				degree[a.index]++
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return degree[b.index] - degree[a.index] })
	var groups [][]candidate
next:
	for _, c := range all {
		for i, group := range groups {
			if !slices.ContainsFunc(group, func(other candidate) bool { return conflicts(c, other) }) {
				groups[i] = append(group, c)
				continue next
			}
		}
		groups = append(groups, []candidate{c})
	}
	for _, group := range groups {
		var works []*work
		var j Joint
		for _, c := range group {
			works = append(works, c.work)
			j.Requests = append(j.Requests, c.index)
		}
		slices.Sort(j.Requests)
		j.Text = u.carryOut(works)
		texts = append(texts, j)
	}
	return texts
}

// A Joint is a text in which several requests are carried out.
type Joint struct {
	Text     []byte
	Requests []int
}

// byOffset are a work's edits by the place where they stand.
func (w *work) byOffset() map[int]string {
	out := map[int]string{}
	for _, e := range w.edits {
		out[e.off] += fmt.Sprintf("%d %s\n", e.blank, e.text)
	}
	return out
}

// reaches reports whether the kernel may be made of what stands at an offset.
func (k *Kernel) reaches(off int) bool {
	t := k.u.tokens
	return slices.ContainsFunc(k.reach, func(f *function) bool {
		return int(t[f.open].off) <= off && off < int(t[t[f.open].match].end)
	})
}
