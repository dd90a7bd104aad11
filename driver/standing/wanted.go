package standing

import (
	"fmt"
	"strconv"

	"gnvcc/cache"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// on gathers what is known of a kernel, as Of wants it.
func (kn *Known) on(identity string, predicted bool) (all []cache.Decision) {
	if kn == nil || identity == "" {
		return nil
	}
	special := func(bucket string, set func(d *cache.Decision)) {
		var d cache.Decision
		if ok, err := kn.own.Get(bucket, identity, &d); err == nil && ok {
			set(&d)
			all = append(all, d)
		}
	}
	special(cache.Pins, func(d *cache.Decision) { d.Pinned = true })
	if len(all) > 0 {
		return all
	}
	for _, d := range kn.locked[identity] {
		d.Pinned = false
		all = append(all, d)
	}
	for i, sn := range kn.snapshots() {
		err := sn.EachDecision(identity, func(raw []byte) error {
			d, err := cache.Brief(raw)
			if err != nil { // for no build; but something was decided
				d = cache.Decision{Exactness: rewrite.Approximate.String()}
			}
			d.From, d.Pinned, d.Predicted = kn.from(i), false, false
			all = append(all, d)
			return nil
		})
		if err != nil && i == 0 {
			return nil
		}
	}
	if predicted && len(all) == 0 {
		special(cache.Predictions, func(d *cache.Decision) { d.Predicted = true })
	}
	return all
}

// A Wanted is what stands for a kernel in a build.
type Wanted struct {
	cache.Decision
	Recipe  recipe.Recipe // to be built with; the default where Refused says why not the decision's
	Refused error
}

// Want looks a kernel up for a build. Without a decision the result is the zero value.
func (kn *Known) Want(k cache.Kernel, by Asker) (w Wanted) {
	if kn != nil && kn.Lock != "" {
		by.Here = nil // so that all machines build the same
	}
	d, ok := Of(kn.on(k.Identity, by.Predicted), by)
	if w.Decision = d; !ok || d.Recipe == "" {
		return w
	}
	r, err := takes(kn, k.Name, k.Identity, d.Recipe, d.Evidence.Normals)
	if err == nil {
		w.Recipe = r
		return w
	}
	text := strconv.Quote(d.Recipe) // another's may be anything, and a build prints it
	w.Refused = fmt.Errorf("%s: %w", text[1:len(text)-1], err)
	if d.From != "" {
		w.Refused = fmt.Errorf("%w (from %s)", w.Refused, d.From)
	}
	return w
}

// Recipes looks up the recipes of kernels for a build. Kernels without a decision, or with that for
// nvcc's own compile, are left out; recipes that can't be read are, too, with the reason. normals
// are the normal forms that the decisions rest on, by kernel and by what was asked of the source.
func Recipes(kn *Known, kernels []cache.Kernel, by Asker) (recipes map[string]recipe.Recipe,
	refused map[string]error, normals map[string]map[string]string) {
	recipes, refused, normals = map[string]recipe.Recipe{}, map[string]error{}, map[string]map[string]string{}
	for _, k := range kernels {
		w := kn.Want(k, by)
		if len(w.Evidence.Normals) > 0 {
			normals[k.Name] = w.Evidence.Normals
		}
		if w.Refused != nil {
			refused[k.Name] = w.Refused
		} else if !w.Recipe.IsDefault() {
			recipes[k.Name] = w.Recipe
		}
	}
	return recipes, refused, normals
}
