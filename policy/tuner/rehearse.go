package tuner

import (
	"context"
	"fmt"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/driver/standing"
	"gnvcc/policy/lever"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Rehearse gives the decision for a recipe on one kernel, or says what speaks against
// it; version is gnvcc's.
func (c *Compiler) Rehearse(ctx context.Context, b record.BuiltKernel, r recipe.Recipe,
	version string) (cache.Decision, error) {
	none := cache.Decision{}
	s, err := c.Compiler.Built(b.Assembly, b.Name)
	if err != nil {
		return none, err
	}
	k, err := describe(s)
	if err != nil {
		return none, err
	}
	if s.Code != nil {
		if r, err = s.Code.Resolve(r, s.Signature); err != nil {
			return none, err
		}
	}
	if err := rewrite.Check(r); err != nil {
		return none, err
	}
	if err := lever.Pinnable(k, r); err != nil {
		return none, err
	}
	if sn, err := c.store.Snapshot(); err == nil {
		banned := standing.Banned(sn, b.Name, b.Identity)
		sn.Close()
		for _, lever := range banned {
			if rewrite.Uses(r, lever) {
				return none, fmt.Errorf("the lever %s is banned for this kernel (gnvcc pin KERNEL --none allows it again)", lever)
			}
		}
	}
	d, err := c.Compiler.Rehearse(ctx, s, r)
	if err != nil {
		return none, err
	}
	d.Exactness, d.Evidence.Version = rewrite.ExactnessOf(r).String(), version
	d.Evidence.Note, d.Evidence.Names = "pinned, not measured", k.ArgumentNames(r)
	d.Evidence.Outvoted = lever.Outvoted(k, r)
	return d, nil
}
