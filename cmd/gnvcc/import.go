package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Recipes from another machine, as gnvcc report --json printed them there: a small file that can lie beside the source,
// where a whole store would carry captured memory of the program.

func importVerb() *cobra.Command {
	c := newVerb("import FILE", "take over recipes that were measured on another machine", `Takes over the recipes in FILE, which gnvcc report --json printed on the machine that measured them. A build takes one
only for the very code that it was measured on, as ever. What was measured into this store stays; pinned, predicted and approximate
recipes are not taken over. Reports name where a recipe comes from.`, arguments(1, 1))
	return runs(c, func(args []string) int {
		if err := importFile(context.Background(), args[0]); err != nil {
			return complain("import", err)
		}
		return 0
	})
}

// An imported counts what became of a file's decisions.
type imported struct {
	recipes, without int // taken over: with a recipe, and without, since nothing was better
	own, left        int // measured here; not to be taken over
}

func importFile(ctx context.Context, path string) error {
	all, err := readReport(path)
	if err != nil {
		return err
	}
	b, err := newBook(ctx)
	if err != nil {
		return err
	}
	var n imported
	err = b.change(func(owner *cache.Owner) error {
		for _, d := range all {
			if !portable(d) {
				n.left++
				continue
			}
			var old cache.Decision
			known, err := owner.Get(cache.Decisions, d.Key(), &old)
			if err != nil {
				return err
			}
			if known && old.Imported == "" && len(old.Evidence.Launches) > 0 {
				n.own++
				continue
			}
			d.Imported, d.For = filepath.Base(path), nil // paths of another machine
			if err := owner.Put(cache.Decisions, d.Key(), d); err != nil {
				return err
			}
			if d.Recipe != "" {
				n.recipes++
			} else {
				n.without++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n.recipes+n.without+n.own == 0 {
		return fmt.Errorf("%s has no measured recipe that can be taken over", path)
	}
	n.tell(path)
	return nil
}

var identityText = regexp.MustCompile(`^[0-9a-f]{64}$`)

// portable tells whether a decision may count on another machine: it was measured, its recipe is one of this version, and
// it is for all builds.
func portable(d cache.Decision) bool {
	if d.Pinned || d.Predicted || d.Approximate() || len(d.Evidence.Launches) == 0 || !identityText.MatchString(d.Identity) {
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

func (n imported) tell(path string) {
	parts := []string{counted(n.recipes, "recipe") + " imported from " + path}
	if n.without > 0 {
		parts = append(parts, counted(n.without, "kernel")+" best as nvcc builds them")
	}
	if n.own > 0 {
		parts = append(parts, fmt.Sprintf("%d measured here, and kept", n.own))
	}
	if n.left > 0 {
		parts = append(parts, fmt.Sprintf("%d left out (pinned, approximate, not measured, or of another version)", n.left))
	}
	fmt.Printf("%s; gnvcc apply builds with them\n", strings.Join(parts, "; "))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
