package source

// Sites of loops, and which of the user's device functions a kernel reaches. Reaching is by name: whatever is named like a
// function that the body mentions, and all members of a class that it mentions. Too many is harmless, since an unrolling
// factor never changes what a program means.

import (
	"fmt"
	"path"
	"strings"
)

// nameLoops finds all loops of the user's functions and gives each its site.
func (u *Unit) nameLoops() {
	u.loopsOnce.Do(func() {
		labels := u.fileLabels()
		u.sites = map[*function][]Loop{}
		seen := map[string]int{}
		for _, f := range u.functions {
			for _, l := range u.loops(f) {
				p := u.at(int(u.tokens[l.at].off))
				site := ""
				if p.file >= 0 {
					site = fmt.Sprintf("%s%d", labels[p.file], p.line)
					if seen[site]++; seen[site] > 1 {
						site = fmt.Sprintf("%s.%d", site, seen[site])
					}
				}
				stop := int(u.tokens[l.stop-1].end)
				loop := Loop{Site: site, Kind: l.kind, Function: f.name, Line: p.line, Depth: l.depth, Inner: l.inner,
					Trip: l.trip, Pragma: l.pragma >= 0, Body: stop - int(u.tokens[l.at].off), l: l, f: f}
				if p.file >= 0 {
					loop.File = u.files[p.file].name
				}
				u.sites[f] = append(u.sites[f], loop)
			}
		}
	})
}

// fileLabels gives each file the prefix of its sites: L for the unit's own, "name.h:" for others, with as many folders as
// tell it apart from the others.
func (u *Unit) fileLabels() []string {
	labels := make([]string, len(u.files))
	taken := map[string]bool{}
	for i, f := range u.files {
		if f.header {
			continue
		}
		if i == 0 {
			labels[i] = "L"
			continue
		}
		name, rest := path.Base(f.name), path.Dir(f.name)
		for taken[name] && rest != "." && rest != "/" {
			name, rest = path.Base(rest)+"/"+name, path.Dir(rest)
		}
		taken[name] = true
		labels[i] = strings.Map(func(r rune) rune {
			if strings.ContainsRune(" {}=,@\n\t", r) {
				return '_'
			}
			return r
		}, name) + ":"
	}
	return labels
}

// reachedFunctions lists f and the user's device functions that it reaches; mentions are names that come from elsewhere (template
// arguments).
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

// loopsOf lists the loops of functions.
func (u *Unit) loopsOf(functions []*function) []Loop {
	u.nameLoops()
	var loops []Loop
	for _, g := range functions {
		loops = append(loops, u.sites[g]...)
	}
	return loops
}
