package search

import (
	"gnvcc/policy/lever"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// behind is the rank of what no search has asked for yet: it is compiled when nothing else is.
const behind = 1000

// Ahead lets the pool compile what the search of a configuration will ask for first, while its
// replay's process starts, or another configuration is measured. What launches of it have in common
// must be known (End). It must not be called during a search.
func (t *Tuner) Ahead(of Captured) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.byName[of.id()]
	if k == nil || k.Alone != "" || k.Lost != "" || t.ended || t.ctx.Err() != nil {
		return
	}
	c := k.configs[of.Shape]
	if c == nil || c.Launch == nil || c.Launch.Device == nil || c.Searched() || c.Notebook.Done ||
		t.checks[of] || k.Searched() >= t.o.Full {
		return
	}
	s := t.search(t.ctx, k, c, c.Launch, nil, t.now().Add(t.o.Budget))
	s.want(recipe.Recipe{}, behind)
	if t.o.Allows("maxnreg") {
		low, high := ends(recipe.Recipe{})
		s.want(low, behind)
		s.want(high, behind)
	}
	for _, r := range byTurns(s.lists()) { // a first look takes one of each lever
		if lever.Of(r) == "maxnreg" { // which caps, the two tell
			continue
		}
		rank := behind + 1
		if lever.HasStage(r, rewrite.Source) {
			rank++
		}
		s.want(r, rank)
	}
}
