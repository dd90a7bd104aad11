package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver"
	"gnvcc/driver/apply"
	"gnvcc/policy"
	"gnvcc/policy/report"
)

// What was built here: apply and revert build it again, status tells of it.

// folderOf reads the folder that a verb may be given, "" for none.
func folderOf(args []string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	folder, err := filepath.Abs(args[0])
	if err == nil {
		_, err = os.Stat(folder)
	}
	return folder, err
}

// everywhere is the option of verbs that work on a folder.
func everywhere(c *cobra.Command) *bool {
	all := c.Flags().Bool("all", false, "everything in the store, whatever folder it was built in")
	args := c.Args
	c.Args = func(c *cobra.Command, words []string) error {
		if *all && len(words) > 0 {
			return errors.New("name a folder, or use --all")
		}
		return args(c, words)
	}
	return all
}

// applyVerb runs the recorded compile commands again whose kernels' recipes have changed.
func applyVerb() *cobra.Command {
	return buildAgain("apply", "run again the compile commands whose kernels' recipes have changed",
		apply.Aim{},
		`Runs the compile commands again whose kernels are now known to be faster with other recipes, those in and below a folder,
the present one if none is named. A file is replaced only where it is what its command wrote; what anything else has
written since, and a source that was edited, are left alone and named. Your next make links what is new.
`)
}

// revertVerb gives everything that was built with recipes nvcc's own code.
func revertVerb() *cobra.Command {
	return buildAgain("revert", "rebuild without recipes: nvcc's own code",
		apply.Aim{Default: true},
		`Rebuilds without recipes what was built with them, as gnvcc apply would with an empty store: in and below
a folder, the present one if none is named. The recipes stay in the store, and the next build or apply uses them
again: GNVCC_OFF=1 or nvcc itself does not, and gnvcc pin --without keeps a lever from a kernel for good. In the end it looks at the
code in all objects, archives and cubins in the folder, and lists where recipes, or code
that this store does not know, are left. Exit code 1 where something had to be left alone.
`)
}

func buildAgain(verb, short string, aim apply.Aim, about string) *cobra.Command {
	c := newVerb(verb+" [-n] [--all | FOLDER]", short, about, arguments(0, 1))
	dry := c.Flags().BoolP("dry-run", "n", false, "run nothing: say what would be run again")
	all := everywhere(c)
	return onStore(c, 1, func(ctx context.Context, store *cache.Store, args []string) error {
		aim.Dry = *dry
		return buildNow(ctx, store, verb, args, *all, aim)
	})
}

func buildNow(ctx context.Context, store *cache.Store, verb string, args []string, all bool,
	aim apply.Aim) (err error) {
	if aim.Look, err = folderOf(append(args, ".")); err != nil {
		return err
	}
	if aim.Under = aim.Look; all {
		aim.Under = ""
	}
	_, err = apply.Build(ctx, store, aim, stdout())
	if aim.Under != "" && err == nil {
		if all, _, err := apply.Status(ctx, store, aim.Under); err == nil && len(all) == 0 {
			sayElsewhere(stdout(), ctx, store)
		}
	}
	if file := lockHere(store, aim.Under); file != "" && verb == "apply" {
		fmt.Fprintf(stderr,
			"gnvcc apply: builds here use %s alone: export what was tuned since (gnvcc export -o %s)\n", file, file)
	}
	if warning := driver.CcacheWarning(store); warning != "" {
		fmt.Fprintf(stderr, "gnvcc %s: %s\n", verb, warning)
	}
	return err
}

// statusVerb tells what was built with which recipe, and what is pending.
func statusVerb() *cobra.Command {
	c := newVerb("status [--json] [--all | FOLDER | FILE]",
		"show what is built with which recipe, and what is pending",
		`Shows what is built with which recipe, and what gnvcc apply would build again: in and below a folder, the present one if
none is named, or in a file (a program or a library, say). It looks at the device code in the files and runs nothing: whether
the rest of a file is still what its command wrote is seen by gnvcc apply only.`, arguments(0, 1))
	asJSON := c.Flags().Bool("json", false, "as JSON")
	all := everywhere(c)
	return onStore(c, 2, func(ctx context.Context, store *cache.Store, args []string) error {
		return status(ctx, store, args, *all, *asJSON)
	})
}

func status(ctx context.Context, store *cache.Store, args []string, all, asJSON bool) error {
	folder, err := folderOf(append(args, "."))
	if err != nil {
		return err
	}
	if all {
		folder = ""
	}
	outputs, broken, err := apply.Status(ctx, store, folder)
	if err != nil {
		return err
	}
	if asJSON {
		return tellJSON("status", standings{folder, outputs, broken})
	}
	statusText(stdout(), folder, outputs, broken)
	if len(outputs) == 0 {
		sayElsewhere(stdout(), ctx, store)
	}
	return nil
}

// sayElsewhere names the folders that the store knows builds of, where there are none in one that was asked for:
// PyTorch's load() builds in a folder of its own.
func sayElsewhere(w io.Writer, ctx context.Context, store *cache.Store) {
	all, _, err := apply.Status(ctx, store, "")
	if err != nil {
		return
	}
	var folders []string
	for _, o := range all {
		if dir := filepath.Dir(o.Output); o.Output != "" && !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	slices.Sort(folders)
	const most = 3
	more := ""
	if n := len(folders) - most; n > 0 {
		folders, more = folders[:most], fmt.Sprintf(" and %d more", n)
	}
	if len(folders) > 0 {
		fmt.Fprintf(w, "  builds elsewhere: %s%s (name a folder, or --all)\n", strings.Join(folders, ", "), more)
	}
}

// A standings is what status --json prints.
type standings struct {
	Folder  string
	Outputs []apply.Output
	// outputs that a killed apply was about to replace; the next one sees to them
	Unfinished []string
}

func statusText(w io.Writer, folder string, outputs []apply.Output, broken []string) {
	if len(outputs) == 0 {
		fmt.Fprintf(w, "gnvcc: no builds known in %s\n", cmp.Or(folder, "any folder"))
	}
	for _, o := range outputs {
		name := o.Output
		if rel, err := filepath.Rel(folder, o.Output); folder == "" {
		} else if err == nil && rel == "." {
			name = filepath.Base(name)
		} else if err == nil && !strings.HasPrefix(rel, "..") {
			name = rel
		}
		if len(o.Inputs) > 0 {
			name += " (" + strings.Join(o.Inputs, " ") + ")"
		}
		fmt.Fprintf(w, "%s: %s\n", name, cmp.Or(o.Why, o.State))
		var lines [][2]string
		targets := map[[2]string][]string{} // of kernels with the same text
		for _, k := range o.Kernels {
			text := cmp.Or(k.Recipe, nvccsOwn)
			if k.Unknown {
				text = "not known here"
			}
			if k.Wanted != k.Recipe && k.Reason == "" {
				text += "; wanted: " + cmp.Or(k.Wanted, nvccsOwn)
			}
			if k.From != "" {
				text += " (from " + k.From + ")"
			}
			if k.Pinned {
				text += " (pinned, not measured)"
			}
			if k.Predicted {
				text += " (predicted, not measured)"
			}
			if k.Proposed {
				text += " (proposed)"
			}
			if k.Reason != "" {
				text += "; not applied: " + report.Refusal("", k.Reason, nil) // it begins with the recipe
			}
			if k.Elsewhere != "" {
				text += "; " + k.Elsewhere
			}
			if k.Refused != "" {
				text += "; refused: " + report.Refusal("", k.Refused, nil)
			}
			line := [2]string{policy.ShortName(k.Kernel), text}
			if targets[line] == nil {
				lines = append(lines, line)
			}
			targets[line] = append(targets[line], k.Target)
		}
		for _, line := range lines {
			fmt.Fprintf(w, "  %s, %s: %s\n", line[0], strings.Join(targets[line], " "), line[1])
		}
	}
	for _, path := range broken {
		fmt.Fprintf(w, "%s: an apply was killed; the next one finishes it or takes it back\n", path)
	}
}

// nvccsOwn is the empty recipe, for people.
const nvccsOwn = "nvcc's own"

// clean removes what killed processes left behind, forgets builds whose folder or output is gone,
// and drops what is kept to make later applies faster; all: every build, and all that can be made
// again. Recipes, bans and pins stay.
func clean(ctx context.Context, store *cache.Store, all bool) error {
	gone, err := apply.Clean(ctx, store, all)
	for _, note := range gone.Notes {
		fmt.Fprintln(console, "gnvcc:", note)
	}
	fmt.Fprintf(console,
		"gnvcc: removed %d temporary folders, %d records of builds, %d files of the store (%.1f MB)\n",
		gone.Folders, gone.Builds, gone.Store.Files, float64(gone.Store.Bytes)/1e6)
	return err
}
