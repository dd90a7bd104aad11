package standing

import (
	"errors"
	"fmt"
	"slices"

	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// What the user does not want for a kernel, and what a build wants of a recipe before it takes it.

// measured returns an error unless all that a recipe asks of the source has its normal form on record.
func measured(name string, r recipe.Recipe, normals map[string]string) error {
	for _, asked := range compile.Asked(name, r) {
		if normals[asked] == "" && normals[cache.CodeKey] != "" { // a lock file has that of each line
			return errEdited
		}
		if normals[asked] == "" {
			return compile.ErrNotOnRecord
		}
	}
	return nil
}

// errEdited is said of a lock file's line whose recipe is another one than its proof.
var errEdited = errors.New("the line has no proof of what this recipe gives, as one that is edited by hand: " +
	"gnvcc pin tries a recipe, gnvcc export writes the line")

// Proven says why a lock file's line is not what an export has written, nil where nothing shows it.
func Proven(d cache.Decision) error {
	r, err := recipe.Parse(d.Recipe)
	if err == nil && rewrite.Check(r) == nil {
		err = measured(d.Kernel, r, d.Evidence.Normals)
	}
	return err
}

// takes reads a decision's recipe for a kernel; the error says why no build takes it.
func takes(kn *Known, kernel, identity, text string, normals map[string]string) (
	recipe.Recipe, error) {
	r, err := recipe.Parse(text)
	if err == nil {
		err = rewrite.Check(r)
	}
	if err == nil {
		err = forbidden(r, kn.banned(kernel, identity))
	}
	if err == nil {
		err = measured(kernel, r, normals)
	}
	return r, err
}

// Untaken says why no build takes a decision's recipe, nil where one may: it is of an old form, the
// user has banned it, or the code that was measured is not on record.
func (kn *Known) Untaken(d cache.Decision) error {
	if d.Recipe == "" {
		return nil
	}
	_, err := takes(kn, d.Kernel, d.Identity, d.Recipe, d.Evidence.Normals)
	return err
}

// HashOf is a hash of normal forms, "" for none.
func HashOf(normals map[string]string) string {
	if len(normals) == 0 {
		return ""
	}
	return cache.HashOf(compile.NormalsText(map[string]map[string]string{"": normals}))
}

// BanKey is the key of a ban for all kernels of a name, whichever file they stand in.
func BanKey(kernel string) string {
	name := ptx.StableName(kernel)
	if len(name) > 500 { // the longest key has 512 bytes
		name = cache.Hash([]byte(name))
	}
	return name
}

// Banned lists the levers that the user does not want for a kernel.
func Banned(sn *cache.Snapshot, kernel, identity string) []string {
	return (&Known{own: sn}).banned(kernel, identity)
}

// banned lists the levers that are not wanted for a kernel, by the user or by those whose stores
// stand behind his.
func (kn *Known) banned(kernel, identity string) []string {
	var levers []string
	for _, key := range []string{BanKey(kernel), identity} {
		for _, sn := range kn.snapshots() {
			var b cache.Ban
			if key == "" {
				continue
			}
			if ok, err := sn.Get(cache.Bans, key, &b); err == nil && ok {
				levers = append(levers, b.Levers...)
			}
		}
	}
	slices.Sort(levers)
	return slices.Compact(levers)
}

// forbidden says that a recipe has a lever that the user does not want.
func forbidden(r recipe.Recipe, banned []string) error {
	for _, lever := range banned {
		if rewrite.Uses(r, lever) {
			return fmt.Errorf("the lever %s is banned for this kernel (gnvcc pin --without)", lever)
		}
	}
	return nil
}
