package rewrite

import (
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// Rewrite for texts: tests have texts, builds modules that were read before.

// apply is Rewrite for a text. Where nothing changes, or the text is no PTX, out is src itself.
func (o Options) apply(src []byte, recipes map[string]recipe.Recipe) (
	out []byte, refused map[string]error, err error) {
	return o.applyBy(passes, src, recipes)
}

// applyBy is apply with another list of passes, for tests.
func (o Options) applyBy(list []Pass, src []byte, recipes map[string]recipe.Recipe) (
	out []byte, refused map[string]error, err error) {
	wanted, refused := passable(recipes)
	if len(wanted) == 0 {
		return src, refused, nil
	}
	m, err := ptx.Parse(src)
	if err != nil {
		return src, refused, err
	}
	m, refused = o.rewrite(list, m, recipes)
	return m.Bytes(), refused, nil
}
