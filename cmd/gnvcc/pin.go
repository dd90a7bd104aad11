package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ianlancetaylor/demangle"
	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/driver/standing"
	"gnvcc/policy"
	"gnvcc/policy/tuner"
	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// Recipes by hand: pin and unpin, ban and unban.

const kernelUsage = "KERNEL is a name, mangled or as in the source, or an identity (from gnvcc report --json)."

// pinVerb keeps a recipe that the user gives for a kernel that was built.
func pinVerb() *cobra.Command {
	c := newVerb("pin [-n] KERNEL RECIPE", "build a kernel with a recipe of your own", `Builds a kernel with a recipe of your own from the next build or apply on. The file is compiled with it once, and what a
build would refuse is refused here. Nobody measures it, and no launch is compared: gnvcc report says so.
`+kernelUsage, arguments(2, 2))
	dry := c.Flags().BoolP("dry-run", "n", false, "only show what would happen")
	return tries(c, 1, func(args []string) error {
		return pin(context.Background(), args[0], args[1], *dry)
	})
}

// pin pins a recipe on every kernel of a name.
func pin(ctx context.Context, name, text string, dry bool) error {
	r, err := recipe.Parse(text)
	if err != nil {
		return err
	}
	if r.IsDefault() {
		return errors.New("an empty recipe is nvcc's own code: gnvcc ban KERNEL LEVER keeps a lever away, gnvcc unpin KERNEL takes a pinned recipe back")
	}
	for _, t := range r.Terms {
		if err := knownLever(t.Lever); err != nil {
			return err
		}
	}
	book, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	store := book.Store()
	c, err := tuner.NewCompiler(store)
	if err != nil {
		return err
	}
	defer c.Close()
	var pinned []cache.Decision
	var refused error
	found := false
	built := record.Built(store)
	for _, b := range built {
		if !called(b.Name, b.Identity, name) {
			continue
		}
		found = true
		over := during("compiling, and proving")
		d, err := c.Rehearse(ctx, b, r, ownVersion())
		over()
		if err != nil {
			refused = errors.Join(refused, fmt.Errorf("%s for %s: %w", policy.ShortName(b.Name), b.Assembly.Target, err))
			continue
		}
		pinned = append(pinned, d)
	}
	if !found {
		return noKernel(name, built)
	}
	for _, d := range pinned {
		fmt.Fprintf(told, "%s for %s: %s; %d registers, nvcc's own has %d; pinned, not measured\n",
			policy.ShortName(d.Kernel), d.Target,
			d.Recipe, d.Evidence.Chosen.Registers, d.Evidence.Default.Registers)
	}
	if dry || len(pinned) == 0 {
		return refused
	}
	err = book.Change(func(owner *cache.Owner) error {
		for _, d := range pinned {
			if err := owner.Put(cache.Pins, d.Identity, d); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(refused, err)
}

// noKernel says that a name is none of those that were built.
func noKernel(name string, built []record.BuiltKernel) error {
	return fmt.Errorf("no such kernel: %s (%d known: gnvcc status)", name, len(built))
}

// called tells whether a user means a kernel by a name.
func called(kernel, identity, name string) bool {
	switch name {
	case kernel, identity, policy.ShortName(kernel):
		return true
	}
	// kernels of several files that are alike are known by one of their names
	if ptx.StableName(name) == ptx.StableName(kernel) {
		return true
	}
	if full, err := demangle.ToString(kernel, demangle.NoClones); err == nil && len(kernel) < 1<<12 {
		full = strings.TrimPrefix(full, "void ")
		if name == full || strings.ReplaceAll(name, " ", "") == strings.ReplaceAll(full, " ", "") {
			return true
		}
	}
	return len(name) >= 8 && regexp.MustCompile(`^[0-9a-f]+$`).MatchString(name) && strings.HasPrefix(identity, name)
}

// unpinVerb takes pinned recipes back: what was measured counts again.
func unpinVerb() *cobra.Command {
	c := newVerb("unpin KERNEL", "take a pinned recipe back", "Takes a pinned recipe back: the next build or apply goes by what was measured.\n"+kernelUsage, arguments(1, 1))
	return tries(c, 1, func(args []string) error { return unpin(args[0]) })
}

func unpin(name string) error {
	b, err := openDecisions(context.Background())
	if err != nil {
		return err
	}
	var keys []string
	err = records(b.Store(), cache.Pins, func(d cache.Decision) {
		if called(d.Kernel, d.Identity, name) {
			keys = append(keys, d.Identity)
		}
	})
	if err == nil && len(keys) == 0 {
		err = fmt.Errorf("no recipe is pinned for %s", name)
	}
	if err != nil {
		return err
	}
	return b.Change(func(owner *cache.Owner) error { return owner.Delete(cache.Pins, keys...) })
}

// banVerb keeps levers from a kernel.
func banVerb() *cobra.Command {
	c := newVerb("ban KERNEL LEVER...", "never use these levers on a kernel", `A kernel is never built with these levers, and gnvcc tune does not try them on it. A ban on a name holds for all kernels of
that name, in other files and after edits too; a ban on an identity holds for that kernel alone.
`+kernelUsage, arguments(2, -1))
	return tries(c, 1, func(args []string) error { return banning(args[0], args[1:], true) })
}

// unbanVerb allows levers again.
func unbanVerb() *cobra.Command {
	c := newVerb("unban KERNEL [LEVER...]", "allow banned levers again", "Takes bans back: of the levers named, or all.\n"+kernelUsage, arguments(1, -1))
	return tries(c, 1, func(args []string) error { return banning(args[0], args[1:], false) })
}

// banning adds levers to a kernel's bans, or takes them away.
func banning(name string, levers []string, add bool) error {
	for _, lever := range levers {
		if err := knownLever(lever); err != nil {
			return err
		}
	}
	ctx := context.Background()
	b, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	store := b.Store()
	keys, err := banKeys(store, name)
	if err != nil {
		return err
	}
	return b.Change(func(owner *cache.Owner) (err error) {
		for _, key := range keys {
			var old cache.Ban
			if _, err := owner.Get(cache.Bans, key, &old); err != nil {
				return err
			}
			now := cache.Ban{Time: time.Now().UTC()}
			if add {
				now.Levers = append(old.Levers, levers...)
				slices.Sort(now.Levers)
				now.Levers = slices.Compact(now.Levers)
			} else if len(levers) > 0 {
				now.Levers = slices.DeleteFunc(old.Levers, func(l string) bool {
					return slices.Contains(levers, l)
				})
			}
			if len(now.Levers) == 0 {
				err = owner.Delete(cache.Bans, key)
			} else {
				err = owner.Put(cache.Bans, key, now)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// knownLever says which levers there are, where a name is none of them.
func knownLever(name string) error {
	var known []string
	for _, p := range rewrite.Levers() {
		if p.Lever == name {
			return nil
		}
		known = append(known, p.Lever)
	}
	return fmt.Errorf("unknown lever %q (there are %s)", name, strings.Join(known, ", "))
}

// banKeys are the keys of a kernel's bans: that of its name, or its identity where it is called by
// that.
func banKeys(store *cache.Store, name string) ([]string, error) {
	built := record.Built(store)
	var keys []string
	for _, b := range built {
		switch {
		case !called(b.Name, b.Identity, name):
		case len(name) >= 8 && strings.HasPrefix(b.Identity, name):
			keys = append(keys, b.Identity)
		default:
			keys = append(keys, standing.BanKey(b.Name))
		}
	}
	if len(keys) == 0 {
		return nil, noKernel(name, built)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// records calls fn for the records of a bucket of what was published.
func records[T any](store *cache.Store, bucket string, fn func(T)) error {
	sn, err := store.Snapshot()
	if errors.Is(err, cache.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer sn.Close()
	return each(sn, bucket, fn)
}
