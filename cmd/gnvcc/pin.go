package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver/standing"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/report"
	"gnvcc/policy/selection"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// What a user decides by hand: recipes, and levers that are not to be used.

// pinVerb is what a user decides by hand for a kernel.
func pinVerb() *cobra.Command {
	c := newVerb("pin [-n] [--all] KERNEL RECIPE | KERNEL --without LEVERS | KERNEL --none | KERNEL --forget",
		"decide by hand: a recipe, levers never to use; forget what was decided",
		`The next build or apply uses your recipe for a kernel. The file is compiled with it once, and what a
build would refuse is refused here. It is not measured, and no launch is compared: gnvcc report says so.

With --without these levers are never used or tried for a kernel: all kernels of that name, also in other files and after
edits; with an identity, that kernel alone. --none removes a pinned recipe and --without's levers.
--forget removes what was decided and tried, on every GPU and for every build, and a pinned recipe: the next tune starts afresh.
--without's levers and captured launches stay. --forget --all without KERNEL forgets everything.
`+kernelUsage, arguments(0, 2))
	fs := c.Flags()
	dry := fs.BoolP("dry-run", "n", false, "only show what would happen")
	all := fs.Bool("all", false, "all kernels that KERNEL means, where there are several")
	without := fs.StringSlice("without", nil, "never use these levers (comma-separated `list`)")
	none := fs.Bool("none", false, "remove decisions made by hand")
	drop := fs.Bool("forget", false, "forget what was decided and tried, too")
	oneOf(c, "without", "none", "forget")
	completesKernels(c)
	return tries(c, 1, func(args []string) error {
		words := 1 // that are wanted
		if len(*without) == 0 && !*none && !*drop {
			words = 2
		}
		switch {
		case *drop && *all && len(args) == 0:
		case len(args) != words:
			return exit(complain("pin", fmt.Errorf("expected KERNEL RECIPE, or KERNEL and one of --without, --none, --forget\nusage: %s", c.UseLine())))
		case *dry && words == 1 && !*drop:
			return exit(complain("pin", errors.New("-n goes with a recipe or --forget")))
		}
		ctx, name := context.Background(), strings.Join(args[:min(1, len(args))], "")
		switch {
		case *drop:
			return forget(ctx, name, *all, *dry)
		case *none:
			return takeBack(ctx, name, *all)
		case len(*without) > 0:
			return ban(ctx, name, *without, *all)
		}
		return pin(ctx, name, args[1], *all, *dry)
	})
}

// pin pins a recipe on a kernel, or on all that a word means.
func pin(ctx context.Context, name, text string, all, dry bool) error {
	r, err := recipe.Parse(text)
	if err != nil {
		return err
	}
	if r.IsDefault() {
		return errors.New("an empty recipe is nvcc's own code: gnvcc pin KERNEL --without LEVER keeps a lever away, --none takes a pinned recipe back")
	}
	for _, t := range r.Terms {
		if err := knownLever(t.Lever); err != nil {
			return err
		}
	}
	own, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	store := own.Store()
	x, err := openSources(store)
	if err != nil {
		return err
	}
	defer x.compiler.Close()
	found, err := selection.One(name, all, builtKernels(store), builtKernel.selected)
	if err != nil {
		return err
	}
	var pinned []cache.Decision
	var refused error
	for _, b := range codes(found) {
		over := during("compiling")
		d, err := x.compiler.Rehearse(ctx, b, r, ownVersion())
		over()
		if err != nil {
			why := report.Refusal(r.String(), err.Error(), func(t recipe.Term) string {
				return x.site(cache.Decision{Identity: b.Identity}, t)
			})
			refused = errors.Join(refused, fmt.Errorf("%s for %s: %s: %s", policy.ShortName(b.Name), b.Assembly.Target, r, why))
			continue
		}
		pinned = append(pinned, d)
	}
	for _, d := range pinned {
		fmt.Fprintf(console, "%s for %s: %s; %d registers, nvcc's own has %d; pinned, not measured\n",
			policy.ShortName(d.Kernel), d.Target,
			d.Recipe, d.Evidence.Chosen.Registers, d.Evidence.Default.Registers)
	}
	if len(pinned) > 0 && rewrite.ExactnessOf(r) == rewrite.Approximate {
		fmt.Fprintf(stderr,
			"gnvcc: %s gives results that differ from nvcc's by an unmeasured amount (gnvcc tune --exact=approximate measures it); gnvcc pin %s --none undoes this\n",
			r, name)
	}
	if dry || len(pinned) == 0 {
		return refused
	}
	err = own.Change(func(owner *cache.Owner) error {
		for _, d := range pinned {
			if err := owner.Put(cache.Pins, d.Identity, d); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(refused, err)
}

// takeBack removes the recipes and the bans that were decided by hand for what a word means.
func takeBack(ctx context.Context, name string, all bool) error {
	b, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	var pins []cache.Decision
	err = records(b.Store(), cache.Pins, func(d cache.Decision) { pins = append(pins, d) })
	list, failed := bans(b.Store())
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	pinned, noPin := selection.One(name, all, pins, selectedDecision)
	found, noBan := selection.One(name, all, list, banned.selected)
	var none *selection.None
	for _, err := range []error{noPin, noBan} {
		if err != nil && !errors.As(err, &none) {
			return err
		}
	}
	if noPin != nil && noBan != nil {
		return noneOf(b.Store(), none, "nothing is decided by hand for %s")
	}
	var keys []string
	for _, d := range pinned {
		keys = append(keys, d.Identity)
	}
	var banKeys []string
	for _, x := range found {
		banKeys = append(banKeys, x.key)
	}
	err = b.Change(func(owner *cache.Owner) error {
		return errors.Join(owner.Delete(cache.Pins, keys...), owner.Delete(cache.Bans, banKeys...))
	})
	if err != nil {
		return err
	}
	for _, d := range pinned {
		fmt.Fprintf(console, "%s for %s: %s is no longer pinned\n", policy.ShortName(d.Kernel), d.Target,
			d.Recipe)
	}
	printBans(found, "allowed again: ")
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
	return keyed(store, bucket, func(_ string, r T) { fn(r) })
}

// keyed is records with their keys.
func keyed[T any](store *cache.Store, bucket string, fn func(string, T)) error {
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

// A banned is a kernel with the key of its bans: that of its name, or its identity where it is
// called by that. Of files and targets a ban on a name knows nothing.
type banned struct {
	selection.Kernel
	key string
	ban cache.Ban
}

func (b banned) selected() selection.Kernel { return b.Kernel }

// byIdentity reports whether a word names a kernel so.
func byIdentity(word, identity string) bool {
	return len(word) >= 8 && strings.HasPrefix(identity, word)
}

// ban adds levers to those that a kernel is never built with.
func ban(ctx context.Context, name string, levers []string, all bool) error {
	for _, name := range levers {
		if err := knownLever(name); err != nil {
			return err
		}
	}
	b, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	var list []banned
	for _, k := range builtKernels(b.Store()) {
		x := banned{Kernel: selection.Kernel{Name: k.Name}, key: standing.BanKey(k.Name)}
		if byIdentity(name, k.Identity) {
			x = banned{Kernel: k.selected(), key: k.Identity}
		}
		list = append(list, x)
	}
	found, err := selection.One(name, all, list, banned.selected)
	if err != nil {
		return err
	}
	err = b.Change(func(owner *cache.Owner) error {
		for i := range found {
			x := &found[i]
			if _, err := owner.Get(cache.Bans, x.key, &x.ban); err != nil {
				return err
			}
			now := slices.Concat(x.ban.Levers, levers)
			slices.Sort(now)
			x.ban = cache.Ban{Levers: slices.Compact(now), Time: time.Now().UTC()}
			if err := owner.Put(cache.Bans, x.key, x.ban); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		printBans(found, "banned: ")
	}
	return err
}

// printBans prints a line a name: a static kernel has two, with -rdc and without.
func printBans(found []banned, what string) {
	var lines []string
	for _, x := range found {
		lines = append(lines, fmt.Sprintf("%s: %s%s\n", policy.ShortName(x.Name), what,
			strings.Join(x.ban.Levers, ", ")))
	}
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		fmt.Fprint(console, line)
	}
}

// bans are those on record, with the names of the kernels that are known.
func bans(store *cache.Store) (list []banned, err error) {
	named := map[string]selection.Kernel{} // by key
	for _, k := range builtKernels(store) {
		named[standing.BanKey(k.Name)] = selection.Kernel{Name: k.Name}
		named[k.Identity] = k.selected()
	}
	err = keyed(store, cache.Bans, func(key string, ban cache.Ban) {
		k, known := named[key]
		if !known { // no build has it now
			if k.Name = key; cache.IsHash(key) { // an identity, or a name too long for a key
				k.Identity = key
			}
		}
		list = append(list, banned{k, key, ban})
	})
	return list, err
}

// Forgetting what was measured, so that the next tune begins anew.

// forget drops what was decided, pinned and predicted for what a word means, with its notebooks; for
// "" and all that of every kernel, and the bans.
func forget(ctx context.Context, name string, all, dry bool) error {
	b, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	store := b.Store()
	buckets := []string{cache.Decisions, cache.Pins, cache.Predictions}
	var list []selection.Kernel
	every := all && name == ""
	if every {
		buckets = append(buckets, cache.Bans)
	} else if list, err = meant(store, buckets, name, all); err != nil {
		return err
	}
	known := identities(list)
	keys, err := recordsOf(store, buckets, known, every)
	if err != nil {
		return err
	}
	if !dry && len(keys) > 0 {
		err = b.Change(func(owner *cache.Owner) (err error) {
			for _, bucket := range buckets {
				err = errors.Join(err, owner.Delete(bucket, keys[bucket]...))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	notebooks, err := store.RemoveMemos(policy.Notebooks, func(text []byte) bool {
		identity := decide.NotebookOf(text)
		return identity != "" && (every || known[identity])
	}, dry)
	var parts []string
	add := func(n int, what string) int {
		if n > 0 {
			parts = append(parts, policy.Count(n, what))
		}
		return n
	}
	built := add(len(keys[cache.Decisions]), "decision") + add(len(keys[cache.Pins]), "pinned recipe") +
		add(len(keys[cache.Predictions]), "prediction")
	add(len(keys[cache.Bans]), "ban")
	add(notebooks, "notebook")
	if len(parts) == 0 {
		fmt.Fprintln(console, "nothing to forget: only its builds are known")
		return err
	}
	text := "forgotten"
	if dry {
		text = "would be forgotten"
	}
	var names []string
	for _, k := range list {
		names = append(names, policy.ShortName(k.Name))
	}
	if len(names) > 0 {
		slices.Sort(names)
		text += " of " + strings.Join(slices.Compact(names), ", ")
	}
	text += ": " + strings.Join(parts, ", ")
	if !dry && built > 0 {
		text += "; gnvcc apply restores nvcc's own code"
	}
	fmt.Fprintln(console, text)
	return err
}

// meant are the kernels that a name stands for: of those that something was decided for, and of
// those that were built.
func meant(store *cache.Store, buckets []string, name string, all bool) ([]selection.Kernel, error) {
	var decided []cache.Decision
	for _, bucket := range buckets {
		err := records(store, bucket, func(d cache.Decision) { decided = append(decided, d) })
		if err != nil {
			return nil, err
		}
	}
	return selection.One(name, all, known(store, decided), itself)
}

// recordsOf lists the keys of the records of kernels in each bucket; with all of everything.
func recordsOf(store *cache.Store, buckets []string, known map[string]bool, all bool) (map[string][]string, error) {
	keys := map[string][]string{}
	sn, err := store.Snapshot()
	if errors.Is(err, cache.ErrNone) {
		return keys, nil
	}
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	for _, bucket := range buckets {
		err := sn.Each(bucket, "", func(key string, raw []byte) error {
			var d cache.Decision
			// as a record by hand has it; a damaged one goes by its key too
			own, _, _ := strings.Cut(key, ".")
			if all || known[own] || json.Unmarshal(raw, &d) == nil && known[d.Identity] {
				keys[bucket] = append(keys[bucket], key)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}
