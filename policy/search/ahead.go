package search

import (
	"gnvcc/policy/lever"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// behind is the rank of what no search has asked for yet: it is compiled when nothing else is.
const behind = 1000

// Ahead lets the pool compile what the search of a configuration will ask for first, while its
// replay's process starts, or another configuration is measured. Its launches must have been seen
// (Saw).
func (t *Run) Ahead(of Captured, p *Plan) {
	c := t.Config(of)
	if !c.live() || t.ended || t.ctx.Err() != nil || c.Launch == nil || c.Launch.Device == nil ||
		c.Searched() || c.Notebook.Done || c.k.Searched() >= t.o.Full {
		return
	}
	s := t.search(t.ctx, c, c.Launch, nil, p, t.now().Add(t.o.Budget))
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
