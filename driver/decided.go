package driver

import (
	"fmt"
	"slices"

	"gnvcc/cache"
	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// What stands for a kernel: what its user pinned, before what was measured; and what he does not want.

// chosen gives the text of the recipe that stands for a kernel. Of the record nothing else is read: the evidence,
// which is most of it, is not for every build.
func chosen(sn *cache.Snapshot, identity string) (text string, ok bool) {
	for _, bucket := range []string{cache.Pins, cache.Decisions} {
		var d struct{ Recipe string }
		if ok, err := sn.Get(bucket, identity, &d); err == nil && ok {
			return d.Recipe, true
		}
	}
	return "", false
}

// Decided gives the decision that stands for a kernel, whole.
func Decided(sn *cache.Snapshot, identity string) (d cache.Decision, ok bool) {
	if identity == "" {
		return cache.Decision{}, false
	}
	for _, bucket := range []string{cache.Pins, cache.Decisions} {
		var d cache.Decision
		if ok, err := sn.Get(bucket, identity, &d); err == nil && ok {
			return d, true
		}
	}
	return cache.Decision{}, false
}

// BanKey is the key of a ban for all kernels of a name, whichever file they stand in.
func BanKey(kernel string) string {
	name := ptx.Plain(kernel)
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
