package driver

import (
	"errors"
	"fmt"
	"slices"

	"gnvcc/cache"
	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// What the user does not want for a kernel, and what a build wants of a recipe before it takes it.

// errUnproven says why a recipe for the source is not carried out whose result nobody has looked at. A place or a value in a
// recipe counts in the source, and identity is that of the PTX: one PTX has many sources.
var errUnproven = errors.New("it is not on record what code was measured with it (decided by an earlier gnvcc): tune once more")

// proven says whether all that a recipe asks of the source has its normal form on record.
func proven(name string, r recipe.Recipe, normals map[string]string) error {
	for _, v := range askedOf(name, r, false) {
		if normals[v.String()] == "" {
			return errUnproven
		}
	}
	return nil
}

// takes reads a decision's recipe for a kernel; the error says why no build takes it.
func takes(sn *cache.Snapshot, kernel, identity, text string, normals map[string]string) (recipe.Recipe, error) {
	r, err := recipe.Parse(text)
	if err == nil {
		err = rewrite.Check(r)
	}
	if err == nil {
		err = forbidden(r, Banned(sn, kernel, identity))
	}
	if err == nil {
		err = proven(kernel, r, normals)
	}
	return r, err
}

// Untaken says why no build takes a decision's recipe, nil where one may: it is of an old form, the user has banned it, or the code that was
// measured is not on record.
func Untaken(sn *cache.Snapshot, d cache.Decision) error {
	if d.Recipe == "" {
		return nil
	}
	_, err := takes(sn, d.Kernel, d.Identity, d.Recipe, d.Evidence.Normals)
	return err
}

// proofOf is a hash of normal forms, "" for none.
func proofOf(normals map[string]string) string {
	if len(normals) == 0 {
		return ""
	}
	return hashOf(normalsText(map[string]map[string]string{"": normals}))
}

// prove compares what cicc gave with what was measured.
func (b *bench) prove(v variantOf, m made) error {
	if b.normals == nil { // the tuner, which measures
		return nil
	}
	of, known := b.normals[v.entry]
	if !known { // apply: see recipesOf; of what stands for a kernel wanted has seen to it
		return nil
	}
	switch want := of[v.String()]; {
	case want == "":
		return errUnproven
	case m.normal != want:
		return fmt.Errorf("%s gives other code here (%.8s) than was measured (%.8s): it is another source of the same kernel", v, m.normal, want)
	}
	return nil
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
	var levers []string
	for _, key := range []string{BanKey(kernel), identity} {
		var b cache.Ban
		if key == "" {
			continue
		}
		if ok, err := sn.Get(cache.Bans, key, &b); err == nil && ok {
			levers = append(levers, b.Levers...)
		}
	}
	slices.Sort(levers)
	return slices.Compact(levers)
}

// forbidden says that a recipe has a lever that the user does not want.
func forbidden(r recipe.Recipe, banned []string) error {
	for _, lever := range banned {
		if rewrite.Uses(r, lever) {
			return fmt.Errorf("the lever %s is banned for this kernel (gnvcc ban)", lever)
		}
	}
	return nil
}
