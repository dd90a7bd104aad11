package driver

import (
	"fmt"
	"slices"

	"gnvcc/cache"
	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// What the user does not want for a kernel.

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
