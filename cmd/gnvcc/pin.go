package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/selection"
	"gnvcc/policy/tuner"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Recipes by hand: pin and unpin.

// pinVerb keeps a recipe that the user gives for a kernel that was built.
func pinVerb() *cobra.Command {
	c := newVerb("pin [-n] [--all] KERNEL RECIPE", "build a kernel with a recipe of your own", `Builds a kernel with a recipe of your own from the next build or apply on. The file is compiled with it once, and what a
build would refuse is refused here. Nobody measures it, and no launch is compared: gnvcc report says so.
`+kernelUsage, arguments(2, 2))
	dry := c.Flags().BoolP("dry-run", "n", false, "only show what would happen")
	all := c.Flags().Bool("all", false, allUsage)
	completesKernels(c, builtNames, false)
	return tries(c, 1, func(args []string) error {
		return pin(context.Background(), args[0], args[1], *all, *dry)
	})
}

// pin pins a recipe on a kernel, or on all that a word means.
func pin(ctx context.Context, name, text string, all, dry bool) error {
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
	found, err := selection.One(name, all, builtKernels(store), builtKernel.selected)
	if err != nil {
		return err
	}
	var pinned []cache.Decision
	var refused error
	for _, b := range codes(found) {
		over := during("compiling, and proving")
		d, err := c.Rehearse(ctx, b, r, ownVersion())
		over()
		if err != nil {
			refused = errors.Join(refused, fmt.Errorf("%s for %s: %w", policy.ShortName(b.Name), b.Assembly.Target, err))
			continue
		}
		pinned = append(pinned, d)
	}
	for _, d := range pinned {
		fmt.Fprintf(told, "%s for %s: %s; %d registers, nvcc's own has %d; pinned, not measured\n",
			policy.ShortName(d.Kernel), d.Target,
			d.Recipe, d.Evidence.Chosen.Registers, d.Evidence.Default.Registers)
	}
	if len(pinned) > 0 && rewrite.ExactnessOf(r) == rewrite.Approximate {
		fmt.Fprintf(os.Stderr,
			"gnvcc: %s gives other results than nvcc's own code, by how much nobody has measured (gnvcc tune --approximate does); gnvcc unpin %s takes it back\n",
			r, name)
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

// unpinVerb takes pinned recipes back: what was measured counts again.
func unpinVerb() *cobra.Command {
	c := newVerb("unpin [--all] KERNEL", "take a pinned recipe back", "Takes a pinned recipe back: the next build or apply goes by what was measured.\n"+kernelUsage, arguments(1, 1))
	all := c.Flags().Bool("all", false, allUsage)
	completesKernels(c, pinnedNames, false)
	return tries(c, 1, func(args []string) error { return unpin(args[0], *all) })
}

func unpin(name string, all bool) error {
	b, err := openDecisions(context.Background())
	if err != nil {
		return err
	}
	var pins []cache.Decision
	if err := records(b.Store(), cache.Pins, func(d cache.Decision) {
		pins = append(pins, d)
	}); err != nil {
		return err
	}
	found, err := selection.One(name, all, pins, selectedDecision)
	if none := (*selection.None)(nil); errors.As(err, &none) {
		return noneOf(b.Store(), none, "no recipe is pinned for %s")
	}
	if err != nil {
		return err
	}
	var keys []string
	for _, d := range found {
		keys = append(keys, d.Identity)
	}
	if err := b.Change(func(owner *cache.Owner) error {
		return owner.Delete(cache.Pins, keys...)
	}); err != nil {
		return err
	}
	for _, d := range found {
		fmt.Fprintf(told, "%s for %s: %s is no longer pinned\n", policy.ShortName(d.Kernel), d.Target,
			d.Recipe)
	}
	return nil
}

// noneOf says that there is nothing to take back of a kernel; that it is no kernel, where that is
// so.
func noneOf(store *cache.Store, none *selection.None, text string) error {
	if _, err := selection.Of(none.Word, builtKernels(store), builtKernel.selected); err != nil &&
		len(none.Near) == 0 {
		return err
	} else if err != nil {
		return fmt.Errorf(text+"; did you mean %s?", none.Word, strings.Join(none.Near, ", or "))
	}
	return fmt.Errorf(text, none.Word)
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
