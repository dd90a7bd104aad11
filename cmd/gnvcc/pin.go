package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver/standing"
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
	own, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	store := own.Store()
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
		fmt.Fprintf(console, "%s for %s: %s; %d registers, nvcc's own has %d; pinned, not measured\n",
			policy.ShortName(d.Kernel), d.Target,
			d.Recipe, d.Evidence.Chosen.Registers, d.Evidence.Default.Registers)
	}
	if len(pinned) > 0 && rewrite.ExactnessOf(r) == rewrite.Approximate {
		fmt.Fprintf(stderr,
			"gnvcc: %s gives other results than nvcc's own code, by how much nobody has measured (gnvcc tune --approximate does); gnvcc unpin %s takes it back\n",
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
		fmt.Fprintf(console, "%s for %s: %s is no longer pinned\n", policy.ShortName(d.Kernel), d.Target,
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

// Levers that the user does not want on a kernel: ban and unban.

// banVerb keeps levers from a kernel.
func banVerb() *cobra.Command {
	c := newVerb("ban [--all] KERNEL LEVER...", "never use these levers on a kernel", `A kernel is never built with these levers, and gnvcc tune does not try them on it. A ban on a name holds for all kernels of
that name, in other files and after edits too; a ban on an identity holds for that kernel alone.
`+kernelUsage, arguments(2, -1))
	all := c.Flags().Bool("all", false, allUsage)
	completesKernels(c, builtNames, true)
	return tries(c, 1, func(args []string) error { return ban(args[0], args[1:], *all) })
}

// unbanVerb allows levers again.
func unbanVerb() *cobra.Command {
	c := newVerb("unban [--all] KERNEL [LEVER...]", "allow banned levers again", "Takes bans back: of the levers named, or all.\n"+kernelUsage, arguments(1, -1))
	all := c.Flags().Bool("all", false, allUsage)
	completesKernels(c, bannedNames, true)
	return tries(c, 1, func(args []string) error { return unban(args[0], args[1:], *all) })
}

// A banned is a kernel with the key of its bans: that of its name, or its identity where it is
// called by that. Of files and targets a ban on a name knows nothing.
type banned struct {
	selection.Kernel
	key string
	ban cache.Ban
}

func (b banned) selected() selection.Kernel { return b.Kernel }

// byIdentity tells whether a word names a kernel so.
func byIdentity(word, identity string) bool {
	return len(word) >= 8 && strings.HasPrefix(identity, word)
}

// ban adds levers to a kernel's bans.
func ban(name string, levers []string, all bool) error {
	if err := knownLevers(levers); err != nil {
		return err
	}
	b, err := openDecisions(context.Background())
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
	return changeBans(b.Change, found, func(x banned) (cache.Ban, string) {
		now := slices.Concat(x.ban.Levers, levers)
		slices.Sort(now)
		now = slices.Compact(now)
		if slices.Equal(now, x.ban.Levers) {
			return x.ban, "banned already: " + joined(levers)
		}
		return cache.Ban{Levers: now, Time: time.Now().UTC()}, "banned: " + joined(now)
	})
}

// unban takes levers away from a kernel's bans, all where none is named.
func unban(name string, levers []string, all bool) error {
	if err := knownLevers(levers); err != nil {
		return err
	}
	b, err := openDecisions(context.Background())
	if err != nil {
		return err
	}
	list, err := bans(b.Store())
	if err != nil {
		return err
	}
	found, err := selection.One(name, all, list, banned.selected)
	if none := (*selection.None)(nil); errors.As(err, &none) {
		return noneOf(b.Store(), none, "no lever is banned for %s")
	}
	if err != nil {
		return err
	}
	for _, lever := range levers {
		if !slices.ContainsFunc(found, func(x banned) bool {
			return slices.Contains(x.ban.Levers, lever)
		}) {
			var has []string
			for _, x := range found {
				has = append(has, x.ban.Levers...)
			}
			slices.Sort(has)
			has = slices.Compact(has)
			return fmt.Errorf("the lever %s is not banned for %s (banned: %s)", lever, name,
				joined(has))
		}
	}
	return changeBans(b.Change, found, func(x banned) (cache.Ban, string) {
		gone := func(l string) bool { return len(levers) == 0 || slices.Contains(levers, l) }
		now := cache.Ban{Time: time.Now().UTC()}
		var free []string
		for _, l := range x.ban.Levers {
			if gone(l) {
				free = append(free, l)
			} else {
				now.Levers = append(now.Levers, l)
			}
		}
		text := "allowed again: " + joined(free)
		if len(now.Levers) > 0 {
			text += "; banned: " + joined(now.Levers)
		}
		return now, text
	})
}

// bans are those on record, with the names of the kernels that are known.
func bans(store *cache.Store) ([]banned, error) {
	var list []banned
	sn, err := store.Snapshot()
	if errors.Is(err, cache.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	built := builtKernels(store)
	for _, k := range built {
		for _, key := range []string{standing.BanKey(k.Name), k.Identity} {
			x := banned{Kernel: selection.Kernel{Name: k.Name}, key: key}
			if key == k.Identity {
				x.Kernel = k.selected()
			}
			if ok, err := sn.Get(cache.Bans, key, &x.ban); err != nil {
				return nil, err
			} else if ok {
				list = append(list, x)
			}
		}
	}
	err = sn.Each(cache.Bans, "", func(key string, _ []byte) error { // of kernels that nobody builds now
		if slices.ContainsFunc(list, func(x banned) bool { return x.key == key }) {
			return nil
		}
		x := banned{Kernel: selection.Kernel{Name: key}, key: key}
		if cache.IsHash(key) { // an identity, or a name too long for a key
			x.Identity = key
		}
		if _, err := sn.Get(cache.Bans, key, &x.ban); err != nil {
			return err
		}
		list = append(list, x)
		return nil
	})
	return list, err
}

// changeBans gives each key the ban that now says, and tells of it.
func changeBans(change func(func(*cache.Owner) error) error, found []banned,
	now func(banned) (cache.Ban, string)) error {
	slices.SortFunc(found, func(a, b banned) int { return strings.Compare(a.key, b.key) })
	found = slices.CompactFunc(found, func(a, b banned) bool { return a.key == b.key })
	texts := make([]string, len(found))
	err := change(func(owner *cache.Owner) error {
		for i, x := range found {
			x.ban = cache.Ban{} // another verb may have changed it
			if _, err := owner.Get(cache.Bans, x.key, &x.ban); err != nil {
				return err
			}
			ban, text := now(x)
			texts[i] = text
			err := error(nil)
			if len(ban.Levers) == 0 {
				err = owner.Delete(cache.Bans, x.key)
			} else {
				err = owner.Put(cache.Bans, x.key, ban)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	last := ""
	for i, x := range found {
		line := fmt.Sprintf("%s: %s\n", policy.ShortName(x.Name), texts[i])
		if line != last { // a static kernel has two names, with -rdc and without
			fmt.Fprint(console, line)
		}
		last = line
	}
	return nil
}

func knownLevers(names []string) error {
	for _, name := range names {
		if err := knownLever(name); err != nil {
			return err
		}
	}
	return nil
}

func joined(levers []string) string { return strings.Join(levers, ", ") }
