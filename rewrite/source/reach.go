package source

// Sites of loops, and which of the user's device functions a kernel reaches. Reaching is by name:
// whatever is named like a function that the body mentions, and all members of a class that it
// mentions. Too many is harmless, since an unrolling factor never changes what a program means.

import (
	"fmt"
	"strings"
)

// findLoops finds all loops of the user's functions.
func (u *Unit) findLoops() {
	u.loopsOnce.Do(func() {
		u.loopsIn = map[*function][]Loop{}
		for _, f := range u.functions {
			for _, l := range u.loops(f) {
				p := u.at(int(u.tokens[l.at].off))
				loop := Loop{Kind: l.kind, Function: f.name, Line: p.line, Inner: l.inner,
					Trip: l.trip, Pragma: l.pragma >= 0, l: l}
				if p.file >= 0 {
					loop.File = u.files[p.file].name
				}
				u.loopsIn[f] = append(u.loopsIn[f], loop)
			}
		}
	})
}

// siteName is a function's name as sites have it: a site stands between @ and = in a recipe.
func siteName(f *function) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" {}=,@.|\n\t", r) {
			return '_'
		}
		return r
	}, f.name)
}

// reachedFunctions lists f and the user's device functions that it reaches; mentions are names that
// come from elsewhere (template arguments).
func (u *Unit) reachedFunctions(f *function, mentions []string) []*function {
	list := []*function{f}
	known := map[*function]bool{f: true}
	add := func(g *function) {
		if !known[g] && !g.kernel && (g.device || g.constant) && g.odd == "" {
			known[g] = true
			list = append(list, g)
		}
	}
	for _, name := range mentions {
		for _, h := range u.methods[name] {
			add(h)
		}
	}
	for n := 0; n < len(list); n++ {
		g := list[n]
		for i := g.open; i < int(u.tokens[g.open].match); i++ {
			if u.tokens[i].kind != ident {
				continue
			}
			name := u.text[u.tokens[i].off:u.tokens[i].end]
			for _, h := range u.byName[string(name)] {
				add(h)
			}
			for _, h := range u.methods[string(name)] {
				add(h)
			}
		}
	}
	return list
}

// loopsOf lists the loops of functions, of which the first one is the kernel, and gives each its
// site: the number of a loop in its function, from 1 in the order of the text, behind the
// function's name where that is not the kernel's. Of functions of one name the second one that is
// reached is called NAME:2. Neither lines nor what else is in the file count, as they do not for a
// kernel's identity.
func (u *Unit) loopsOf(functions []*function) []Loop {
	u.findLoops()
	var loops []Loop
	seen := map[string]int{}
	for i, g := range functions {
		prefix := ""
		if i > 0 {
			prefix = siteName(g)
			if seen[prefix]++; seen[prefix] > 1 {
				prefix = fmt.Sprintf("%s:%d", prefix, seen[prefix])
			}
			prefix += "."
		}
		for n, l := range u.loopsIn[g] {
			if l.File != "" { // before the first marker a loop could not be given its line back
				l.Site = fmt.Sprintf("%s%d", prefix, n+1)
			}
			loops = append(loops, l)
		}
	}
	return loops
}
