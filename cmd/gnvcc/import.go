package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/cache/lock"
	"gnvcc/driver/standing"
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Recipes from another machine, as gnvcc report --json printed them there: a small file that can
// lie beside the source, where a whole store would carry captured memory of the program.

func importVerb() *cobra.Command {
	c := newVerb("import [-n] [--over] FILE",
		"take over recipes that were measured on another machine",
		`Takes over the recipes in FILE: a lock file (gnvcc export), or what gnvcc report --json printed on the machine that
measured them. A build takes one only for the very code that it was measured on, as ever, and one from a lock file only where
it gives the code that was exported. What was measured into this store stays, unless --over is given; of a report, pinned,
predicted and approximate recipes are not taken over. Reports say where a recipe comes from. To build by a lock file alone, and leave the
store as it is: GNVCC_LOCK=FILE, or gnvcc lock FILE.`, arguments(1, 1))
	var i importing
	c.Flags().BoolVarP(&i.dry, "dry-run", "n", false, "only show what would happen")
	c.Flags().BoolVar(&i.over, "over", false,
		"the file's recipes in the place of what was measured here")
	return tries(c, 2, func(args []string) error {
		i.file = args[0]
		return i.run(context.Background())
	})
}

// An importing is what is to be taken over, and how.
type importing struct {
	file      string
	dry, over bool
}

// An imported counts what became of a file's decisions.
type imported struct {
	recipes, without int // taken over: with a recipe, and without, since nothing was better
	own, left        int // measured here; not to be taken over
}

// run takes a file for what it begins as.
func (i importing) run(ctx context.Context) error {
	text, _, err := standing.ReadLock(i.file)
	if err != nil {
		return fmt.Errorf("read %s: %w", i.file, err)
	}
	if filepath.Ext(i.file) == ".lock" || lock.Is(text) {
		return i.lock(ctx, text)
	}
	return i.report(ctx)
}

func (i importing) report(ctx context.Context) error {
	all, err := readReport(i.file)
	if err != nil {
		return err
	}
	b, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	var n imported
	records := map[string]any{}
	for _, d := range all {
		if !portable(d) {
			n.left++
			continue
		}
		if old, known := b.At(d); known && old.Imported == "" && len(old.Evidence.Launches) > 0 &&
			!i.over {
			n.own++
			continue
		}
		d.Imported, d.For, d.From = filepath.Base(i.file), nil, "" // paths of another machine
		records[d.Key()] = d
		if d.Recipe != "" {
			n.recipes++
		} else {
			n.without++
		}
	}
	if n.recipes+n.without+n.own == 0 {
		return fmt.Errorf("%s has no measured recipe that can be taken over", i.file)
	}
	if !i.dry && len(records) > 0 {
		if err := b.Change(func(owner *cache.Owner) error {
			return owner.PutAll(cache.Decisions, records)
		}); err != nil {
			return err
		}
	}
	n.tell(i.file, i.dry)
	return nil
}

// portable tells whether a decision may count on another machine: it was measured, its recipe is
// one of this version, and it is for all builds.
func portable(d cache.Decision) bool {
	if d.Pinned || d.Predicted || d.Approximate() || len(d.Evidence.Launches) == 0 ||
		!cache.IsHash(d.Identity) {
		return false
	}
	r, err := recipe.Parse(d.Recipe)
	if err != nil || rewrite.Check(r) != nil {
		return false
	}
	level, err := rewrite.ParseExactness(d.Exactness)
	exact := rewrite.ExactnessOf(r)
	return exact != rewrite.Approximate && (r.IsDefault() || err == nil && level >= exact)
}

func (n imported) tell(path string, dry bool) {
	would := ""
	if dry {
		would = " would be"
	}
	parts := []string{policy.Count(n.recipes, "recipe") + would + " imported from " + path}
	if n.without > 0 {
		parts = append(parts, policy.Count(n.without, "kernel")+" best as nvcc builds them")
	}
	if n.own > 0 {
		parts = append(parts, fmt.Sprintf("%d measured here, and kept", n.own))
	}
	if n.left > 0 {
		parts = append(parts, fmt.Sprintf(
			"%d left out (pinned, approximate, not measured, or of another version)", n.left))
	}
	fmt.Fprintf(console, "%s; gnvcc apply builds with them\n", strings.Join(parts, "; "))
}
