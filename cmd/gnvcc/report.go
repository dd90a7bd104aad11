package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"time"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver/standing"
	"gnvcc/policy/page"
	"gnvcc/policy/report"
	"gnvcc/policy/selection"
)

// A reporting is how a report is asked for.
type reporting struct {
	report.Options
	kernel        string
	meant         map[string]bool // the identities of its kernels; nil: all
	html, compare string          // files
	csv, markdown bool
	json, all     bool
}

// reportVerb prints what is believed of the kernels: what was decided, and where locks and barriers
// are wrong.
func reportVerb() *cobra.Command {
	c := newVerb("report [FOLDER]",
		"show what became faster here, kernel by kernel, by the time it saves; --html FILE: as a page",
		"What was decided for the kernels that were built in and below a folder, the present one if none is named, and that programs\n"+
			"there launch: time, share, what is saved, registers, how it was checked; what saves most stands first. Then, as text only,\n"+
			"locks and barriers that can make a kernel hang.", arguments(0, 1))
	fs := c.Flags()
	var r reporting
	fs.BoolVar(&r.all, "all", false, "everything in the store, whatever folder it was built in")
	fs.BoolVarP(&r.Verbose, "verbose", "v", false,
		"also show what each lever gives alone, L1 sensitivity, what was tried and why it was refused")
	fs.BoolVar(&r.json, "json", false, "as JSON, with all evidence")
	fs.BoolVar(&r.csv, "csv", false, "as comma-separated values, times in nanoseconds")
	fs.BoolVar(&r.markdown, "markdown", false, "as a Markdown table")
	fs.StringVar(&r.html, "html", "", "write a page to `FILE`: one file that needs no network")
	fs.StringVar(&r.compare, "compare", "",
		"show what has changed since `OLD`, a file printed by report --json")
	fs.StringVar(&r.kernel, "kernel", "",
		"only these kernels, each in full: a `KERNEL` as gnvcc explain takes it; exit code 1 if there is none")
	oneOf(c, "json", "csv", "markdown", "html", "compare")
	completesFlag(c, "kernel")
	return tries(c, 2, func(args []string) error {
		if r.all && len(args) > 0 {
			return errors.New("name a folder, or use --all")
		}
		return showReport(r, args)
	})
}

func showReport(r reporting, args []string) error {
	mine, err := scopeHere(args, r.all)
	if err != nil {
		return err
	}
	every, untaken, err := decided()
	if err != nil {
		return err
	}
	decisions := mine.of(every)
	r.Untaken, r.Place = untaken, mine.place
	found := decisions
	if r.kernel != "" {
		r.Kernel = regexp.MustCompile("") // each in full
		if found, r.meant, err = meaning(r.kernel, mine, decisions); err != nil {
			complain("report", err)
			if err = exit(1); !r.json {
				return err
			}
		}
	}
	switch asked := r.json || r.csv || r.markdown || r.html != "" || r.compare != ""; {
	case len(found) == 0 && r.meant != nil && !asked:
		fmt.Fprintf(stdout(),
			"nothing decided yet for %s: gnvcc tune -- ./app finds recipes for a program built with gnvcc\n",
			r.kernel)
		tellHazards(mine, decisions, r.meant)
		return nil
	case len(decisions) == 0 && asked && len(every) > 0:
		fmt.Fprintln(os.Stderr, "gnvcc:", mine.nothing(len(every)))
	case len(decisions) == 0 && !asked:
		fmt.Fprintln(stdout(), mine.nothing(len(every)))
		tellHazards(mine, decisions, r.meant)
		return nil
	}
	if told := reportAs(r, mine, found); told != nil {
		return told
	}
	return err
}

// scopeHere is the scope of the folder that a verb is given, or of the present one.
func scopeHere(args []string, all bool) (*scope, error) {
	folder, err := folderOf(append(args, "."))
	if err != nil {
		return nil, err
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return nil, err
	}
	if all {
		folder = ""
	}
	store, err := openStore()
	if err != nil {
		return nil, err
	}
	return scopeOf(store, folder)
}

// meaning keeps the decisions on the kernels that a word means in a scope, and gives these kernels'
// identities.
func meaning(word string, mine *scope, all []cache.Decision) ([]cache.Decision, map[string]bool,
	error) {
	store, err := openStore()
	if err != nil {
		return nil, nil, err
	}
	list := known(store, all)
	if mine.folder != "" {
		decided := identities(known(nil, all))
		list = slices.DeleteFunc(list, func(k selection.Kernel) bool {
			return !mine.kernels[k.Identity] && !decided[k.Identity]
		})
	}
	found, err := selection.Of(word, list, itself)
	if err != nil && mine.folder != "" {
		err = fmt.Errorf("%w; gnvcc report --all looks at the whole store", err)
	}
	if err != nil {
		return nil, nil, err
	}
	meant := identities(found)
	return decisionsOf(all, meant), meant, nil
}

// A reported is what report --json prints.
type reported struct {
	Folder  string         `json:"folder,omitempty"` // that was built in; "": everywhere
	Kernels []report.Entry `json:"kernels"`
}

// reportAs writes a report in one of its forms.
func reportAs(r reporting, mine *scope, decisions []cache.Decision) error {
	in := page.Input{Decisions: decisions, Untaken: r.Untaken, Place: r.Place, Version: ownVersion(),
		Made: time.Now()}
	switch {
	case r.json:
		return tellJSON("report", reported{mine.folder, r.Entries(decisions)})
	case r.csv:
		return page.CSV(told, in)
	case r.markdown:
		return page.Markdown(told, in)
	case r.compare != "":
		old, err := readReport(r.compare)
		if err != nil {
			return err
		}
		return page.Compare(stdout(), old, decisions)
	case r.html != "":
		in.Programs = programs(mine, decisions)
		return writePage(r.html, in)
	}
	if r.Kernel == nil {
		tellPrograms(stdout(), programs(mine, decisions))
	}
	if err := report.Write(stdout(), decisions, r.Options); err != nil {
		return err
	}
	tellHazards(mine, decisions, r.meant)
	return nil
}

// readReport reads the decisions of what report --json printed.
func readReport(path string) ([]cache.Decision, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, err := report.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not what gnvcc report --json prints: %w", path, err)
	}
	return all, nil
}

// explainVerb tells all that is known of the kernels that a name matches.
func explainVerb() *cobra.Command {
	c := newVerb("explain KERNEL",
		"show all that is known of a kernel, and why it is built as it is; --patch: the recipe as a diff",
		"All that is known of a kernel, and why it is built as it is; of all that KERNEL means.\n"+kernelUsage, arguments(1, 1))
	html := c.Flags().String("html", "", "write a page to `FILE`")
	patch := c.Flags().Bool("patch", false,
		"print the recipe as a diff for patch -p0: pragmas and register caps; what can't be written so is named")
	oneOf(c, "html", "patch")
	completesKernels(c, builtNames, false)
	return tries(c, 2, func(args []string) error { return explain(args[0], *html, *patch) })
}

func explain(kernel, html string, patch bool) error {
	decisions, untaken, err := decided()
	if err != nil {
		return err
	}
	everywhere, err := scopeHere(nil, true)
	if err != nil {
		return err
	}
	found, meant, err := meaning(kernel, everywhere, decisions)
	if err != nil {
		complain("explain", err)
		return exit(1)
	}
	store, err := openStore()
	if err != nil {
		return err
	}
	built := codes(slices.DeleteFunc(builtKernels(store), func(b builtKernel) bool {
		return !meant[b.Identity]
	}))
	if html != "" {
		return explainPage(html, built, page.Input{Decisions: found, Untaken: untaken,
			Place: everywhere.place, Title: "gnvcc explain " + kernel, Version: ownVersion(),
			Made: time.Now()})
	}
	if len(found) == 0 && patch {
		return fmt.Errorf("nothing is decided for %s yet: there is no recipe", kernel)
	}
	if len(found) == 0 { // built, not yet tuned
		ctx, stop := ended(context.Background())
		defer stop()
		p, err := newPrediction(ctx)
		if err != nil {
			return err
		}
		defer p.Close()
		p.print(ctx, built)
		return nil
	}
	if patch {
		return printPatches(found)
	}
	for i, d := range found {
		if i > 0 {
			fmt.Fprintln(told)
		}
		e := report.Options{Untaken: untaken, Place: everywhere.place}.Entry(d)
		report.Explain(stdout(), e)
		fmt.Fprintf(stdout(), "\n  %s\n", page.Why(e))
	}
	tellHazards(everywhere, decisions, meant)
	return nil
}

// decided are all decisions, in order of the kernels' names, and why no build takes the recipes of
// some.
func decided() ([]cache.Decision, func(cache.Decision) error, error) {
	store, err := openStore()
	if err != nil {
		return nil, nil, err
	}
	sn, err := store.Snapshot()
	if err != nil && !errors.Is(err, cache.ErrNone) {
		return nil, nil, err
	}
	kn := standing.KnownOf(store, sn)
	defer kn.Close()
	for _, reason := range kn.Missing {
		fmt.Fprintln(os.Stderr, "gnvcc:", reason)
	}
	var all []cache.Decision
	pinned := map[string]bool{}
	err = each(sn, cache.Pins, func(d cache.Decision) {
		pinned[d.Identity] = true
		all = append(all, d)
	})
	if err != nil {
		return nil, nil, err
	}
	measured, err := sn.AllDecisions()
	if err != nil {
		return nil, nil, err
	}
	known := maps.Clone(pinned)
	for _, d := range measured {
		known[d.Identity] = true
		if !pinned[d.Identity] {
			all = append(all, d)
		}
	}
	others, problem := kn.Others()
	err = errors.Join(err, problem)
	for _, d := range others {
		if !pinned[d.Identity] {
			all = append(all, d)
			known[d.Identity] = true
		}
	}
	err = errors.Join(err, each(sn, cache.Predictions, func(d cache.Decision) {
		if !known[d.Identity] {
			d.Predicted = true
			all = append(all, d)
		}
	}))
	sort.SliceStable(all, func(i, j int) bool { return all[i].Kernel < all[j].Kernel })
	why := map[string]error{} // the snapshot is closed before it is asked
	for _, d := range all {
		why[untakenKey(d)] = kn.Untaken(d)
	}
	return all, func(d cache.Decision) error { return why[untakenKey(d)] }, err
}

func untakenKey(d cache.Decision) string { return fmt.Sprint(d.Pinned, d.Predicted, d.Key()) }

// each calls fn for the records of a bucket.
func each[T any](sn *cache.Snapshot, bucket string, fn func(T)) error {
	return sn.Each(bucket, "", func(key string, raw []byte) error {
		var r T
		if err := json.Unmarshal(raw, &r); err != nil {
			return fmt.Errorf("%s %s can't be read: %w", bucket, key, err)
		}
		fn(r)
		return nil
	})
}
