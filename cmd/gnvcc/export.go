package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/cache/lock"
	"gnvcc/driver/apply"
	"gnvcc/driver/record"
	"gnvcc/policy"
	"gnvcc/policy/report"
	"gnvcc/policy/tuner"
	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// exportVerb writes a lock file.
func exportVerb() *cobra.Command {
	c := newVerb("export [-o FILE] [--all | FOLDER]",
		"write a lock file: the recipes of what was built here, for a team's git",
		`Writes a lock file: text, one line a kernel and GPU, for the kernels that the files in and below a folder hold, the present one
if none is named. Each line has the hash of the code that its recipe gives; gnvcc lock --take, and builds with GNVCC_LOCK or
gnvcc lock, take a recipe only where it gives that. Pinned recipes are in it, approximations are not. What can't be exported
is named on standard error. Lines of colleagues are kept by gnvcc lock --take gnvcc.lock && gnvcc export -o gnvcc.lock.`, arguments(0, 1))
	out := c.Flags().StringP("output", "o", "",
		"write to this `file`, in one step, so that no build reads half of it (default: standard output)")
	all := everywhere(c)
	return tries(c, 1, func(args []string) error {
		folder, err := folderOf(append(args, "."))
		if err != nil {
			return err
		}
		if *all {
			folder = ""
		}
		return exporting(context.Background(), folder, *out)
	})
}

// exporting writes the lock file of a folder.
func exporting(ctx context.Context, folder, out string) error {
	b, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	built, unknown, err := apply.Kernels(b.Store(), folder)
	if err != nil {
		return err
	}
	if len(built) == 0 { // an empty file would take everybody's recipes away
		return fmt.Errorf("no kernels were built with gnvcc in %s, as far as this store knows: no lock file is written",
			cmp.Or(folder, "any folder"))
	}
	over := during("compiling each recipe once")
	lines, left, err := locked(ctx, b.Store(), built)
	left = append(left, unknown...)
	over()
	if err != nil {
		return err
	}
	for _, text := range left {
		fmt.Fprintln(stderr, "gnvcc: left out:", text)
	}
	text, err := lock.Write(lines)
	if err != nil {
		return err
	}
	if out == "" {
		_, err = console.Write(text)
	} else {
		err = replaceFile(out, text)
	}
	if err != nil {
		return fmt.Errorf("write the lock file: %w", err)
	}
	recipes := len(slices.DeleteFunc(slices.Clone(lines), func(l lock.Line) bool { return l.Recipe == "" }))
	said := policy.Count(recipes, "recipe") + " written to " + cmp.Or(out, "standard output")
	if best := len(lines) - recipes; best > 0 {
		said += fmt.Sprintf(", and %s that nvcc builds best", policy.Count(best, "kernel"))
	}
	if len(left) > 0 {
		said += fmt.Sprintf(", %s left out", policy.Count(len(left), "kernel"))
	}
	if len(lines)+len(left) == 0 {
		said += fmt.Sprintf(": of %s built here none has a recipe (gnvcc tune -- ./app)", policy.Count(len(built), "kernel"))
	}
	fmt.Fprintln(stderr, "gnvcc:", said)
	return nil
}

// replaceFile writes a file in one step. One that has the content already stays.
func replaceFile(path string, text []byte) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := os.FileMode(0o644)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".gnvcc-lock-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// locked gives the lines for kernels that were built, and what is left out, with the reasons.
func locked(ctx context.Context, store *cache.Store,
	built []record.BuiltKernel) (lines []lock.Line, left []string, err error) {
	decisions, untaken, err := decided(store)
	if err != nil {
		return nil, nil, err
	}
	of := map[string][]cache.Decision{}
	for _, d := range decisions {
		of[d.Identity] = append(of[d.Identity], d)
	}
	c, err := tuner.NewCompiler(store)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	seen := map[string]bool{}
	for _, b := range built {
		if seen[b.Identity] { // the same kernel, in two files
			continue
		}
		seen[b.Identity] = true
		for _, d := range lockable(of[b.Identity]) {
			l, err := lineFor(ctx, c, b, d, untaken)
			if err != nil {
				left = append(left, fmt.Sprintf("%s for %s: %s: %v", policy.ShortName(b.Name),
					b.Assembly.Target, d.Recipe, err))
				continue
			}
			lines = append(lines, l)
		}
	}
	return lines, left, nil
}

// lockable are the decisions on one kernel that get lines: the pinned one alone, if there is one;
// else each GPU's, where one of them has a recipe. An approximate one belongs to who asked for it.
func lockable(all []cache.Decision) []cache.Decision {
	var out []cache.Decision
	some := false
	for _, d := range all {
		switch {
		case d.Pinned && d.Evidence.Device == "":
			return []cache.Decision{d}
		case d.Approximate() || d.Recipe == "" && len(d.Evidence.Launches) == 0 &&
			d.Evidence.Locked == nil:
			continue
		}
		some = some || d.Recipe != ""
		out = append(out, d)
	}
	if !some {
		return nil
	}
	return out
}

// lineFor makes the line of a decision on a kernel that was built here.
func lineFor(ctx context.Context, c *tuner.Compiler, b record.BuiltKernel, d cache.Decision,
	untaken func(cache.Decision) error) (lock.Line, error) {
	l := lock.Line{Kernel: ptx.StableName(b.Name), Device: d.Evidence.Device,
		Target: b.Assembly.Target, Ptxas: b.Assembly.Version,
		Recipe: d.Recipe, Exact: d.Exactness, Time: d.Time.UTC().Truncate(time.Second),
		Gnvcc:    d.Evidence.Version,
		Identity: b.Identity, Code: lock.NoCode}
	if e := report.NewEntry(d); !d.Pinned {
		l.Checks, l.Varied = e.Checked, e.Varied
		if e.Ratio > 0 {
			l.Gain = 1 / e.Ratio
		}
	}
	if d.Recipe == "" {
		l.Exact, l.Gain = rewrite.ByConstruction.String(), 1
		return l, nil
	}
	if err := untaken(d); err != nil {
		return l, err
	}
	r, err := recipe.Parse(d.Recipe)
	if err != nil {
		return l, err
	}
	if rewrite.ExactnessOf(r) == rewrite.Approximate {
		return l, errors.New("it approximates: approximate recipes are per user, and not exported")
	}
	if level, err := rewrite.ParseExactness(l.Exact); err != nil || level < rewrite.ExactnessOf(r) {
		l.Exact = rewrite.ExactnessOf(r).String() // by hand, or by an earlier version
	}
	for variant, hash := range d.Evidence.Normals {
		if variant != cache.CodeKey {
			l.Normals = append(l.Normals, lock.Normal{Variant: variant, Hash: hash})
		}
	}
	slices.SortFunc(l.Normals, func(a, b lock.Normal) int {
		return strings.Compare(a.Variant, b.Variant)
	})
	if l.Code = d.Evidence.Normals[cache.CodeKey]; l.Code != "" {
		return l, nil // it came by a lock file; a build here has to give the same
	}
	s, err := c.Compiler.Built(b.Assembly, b.Name)
	if err != nil {
		return l, err
	}
	l.Code, err = c.Code(ctx, s, r, d.Evidence.Normals)
	return l, err
}
