package standing

import (
	"fmt"
	"strconv"

	"gnvcc/cache"
	"gnvcc/rewrite/recipe"
)

// Recipes looks up the recipes of kernels for a build. Kernels without a decision, or with that for
// nvcc's own compile, are left out; recipes that can't be read are, too, with the reason. normals
// are the normal forms that the decisions rest on, by kernel and by what was asked of the source.
func Recipes(kn *Known, kernels []cache.Kernel,
	by asker) (recipes map[string]recipe.Recipe, refused map[string]error,
	normals map[string]map[string]string) {
	recipes, refused, normals = map[string]recipe.Recipe{}, map[string]error{},
		map[string]map[string]string{}
	for _, k := range kernels {
		if k.Identity == "" {
			continue
		}
		d, ok := standing(kn, k.Identity, by)
		if !ok {
			continue
		}
		if len(d.Evidence.Normals) > 0 {
			normals[k.Name] = d.Evidence.Normals
		}
		if d.Recipe == "" {
			continue
		}
		r, err := takes(kn, k.Name, k.Identity, d.Recipe, d.Evidence.Normals)
		if err != nil {
			text := strconv.Quote(d.Recipe) // another's may be anything, and a build prints it
			refused[k.Name] = fmt.Errorf("%s: %w%s", text[1:len(text)-1], err, kn.where(d))
			continue
		}
		if !r.IsDefault() {
			recipes[k.Name] = r
		}
	}
	return recipes, refused, normals
}
