package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"sort"
	"time"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver/standing"
	"gnvcc/policy"
	"gnvcc/policy/page"
	"gnvcc/policy/report"
)

// A reporting is how a report is asked for.
type reporting struct {
	report.Options
	kernel        string
	html, compare string // files
	csv, markdown bool
}

// reportVerb prints what is believed of the kernels: what was decided, and where locks and barriers
// are wrong.
func reportVerb() *cobra.Command {
	c := newVerb("report",
		"show what was decided, kernel by kernel: times, registers, occupancy, checks; --html FILE: as a page",
		"What was decided for each kernel: registers, occupancy, times with their spread, how it was checked. Then, as text only,\n"+
			"locks and barriers that can make a kernel hang.", none)
	fs := c.Flags()
	var r reporting
	fs.BoolVarP(&r.Verbose, "verbose", "v", false, "also show what was tried and why it was refused")
	fs.BoolVar(&r.JSON, "json", false, "as JSON, with all evidence")
	fs.BoolVar(&r.csv, "csv", false, "as comma-separated values, times in nanoseconds")
	fs.BoolVar(&r.markdown, "markdown", false, "as a Markdown table")
	fs.StringVar(&r.html, "html", "", "write a page to `FILE`: one file that needs no network")
	fs.StringVar(&r.compare, "compare", "",
		"show what has changed since `OLD`, a file printed by report --json")
	fs.StringVar(&r.kernel, "kernel", "",
		"only kernels whose name matches this regular `expression`, each in full")
	c.MarkFlagsMutuallyExclusive("json", "csv", "markdown", "html", "compare")
	return tries(c, 2, func([]string) error { return showReport(r) })
}

func showReport(r reporting) error {
	o := r.Options
	var err error
	if r.kernel != "" {
		if o.Kernel, err = regexp.Compile(r.kernel); err != nil {
			return err
		}
	}
	decisions, untaken, err := decided()
	if err != nil {
		return err
	}
	o.Untaken, r.Untaken = untaken, untaken
	if r.html != "" || r.csv || r.markdown || r.compare != "" {
		return reportAs(r, matching(decisions, o.Kernel))
	}
	if len(decisions) == 0 && !o.JSON {
		fmt.Fprintln(stdout(),
			"nothing decided yet: gnvcc tune -- ./app finds recipes for a program built with gnvcc")
		tellHazards(decisions, o.Kernel)
		return nil
	}
	out := stdout()
	if !o.JSON && o.Kernel == nil {
		tellPrograms(out, programs(decisions))
	}
	if o.JSON {
		out = told
	}
	if err := report.Write(out, decisions, o); err != nil {
		return err
	}
	if !o.JSON {
		tellHazards(decisions, o.Kernel)
	}
	return nil
}

// matching keeps the decisions on kernels of a name, all where there is none.
func matching(all []cache.Decision, name *regexp.Regexp) []cache.Decision {
	if name == nil {
		return all
	}
	var out []cache.Decision
	for _, d := range all {
		if name.MatchString(d.Kernel) || name.MatchString(policy.ShortName(d.Kernel)) {
			out = append(out, d)
		}
	}
	return out
}

// reportAs writes one of the other forms.
func reportAs(r reporting, decisions []cache.Decision) error {
	in := page.Input{Decisions: decisions, Untaken: r.Untaken, Version: ownVersion(), Made: time.Now()}
	switch {
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
	}
	return writePage(r.html, in)
}

// readReport reads the decisions of what report --json printed.
func readReport(path string) ([]cache.Decision, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var entries []struct {
		Decision *cache.Decision `json:"decision"`
	}
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("%s is not what gnvcc report --json prints: %w", path, err)
	}
	var out []cache.Decision
	for i, e := range entries {
		if e.Decision == nil {
			return nil, fmt.Errorf("%s is not what gnvcc report --json prints: entry %d has no decision",
				path, i)
		}
		out = append(out, *e.Decision)
	}
	return out, nil
}

// explainVerb tells all that is known of the kernels that a name matches.
func explainVerb() *cobra.Command {
	c := newVerb("explain KERNEL",
		"show all that is known of a kernel, and why it is built as it is; --patch: the recipe as a diff",
		"All that is known of a kernel, and why it is built as it is. KERNEL is a part of its name, or a regular expression.", arguments(1, 1))
	html := c.Flags().String("html", "", "write a page to `FILE`")
	patch := c.Flags().Bool("patch", false,
		"print the recipe as a diff for patch -p0: pragmas and register caps; what can't be written so is named")
	c.MarkFlagsMutuallyExclusive("html", "patch")
	return tries(c, 2, func(args []string) error { return explain(args[0], *html, *patch) })
}

func explain(kernel, html string, patch bool) error {
	name, err := regexp.Compile(kernel)
	if err != nil {
		return err
	}
	decisions, untaken, err := decided()
	if err != nil {
		return err
	}
	found := matching(decisions, name)
	if html != "" {
		if n, err := explainPage(html, name, page.Input{Decisions: found, Untaken: untaken,
			Version: ownVersion(), Made: time.Now()}); err != nil || n > 0 {
			return err
		}
	}
	if len(found) == 0 {
		// built, not yet tuned
		if n, err := foretold(context.Background(), name); err == nil && n > 0 && html == "" && !patch {
			return nil
		}
		return fmt.Errorf("no such kernel: %s (%d known: gnvcc report)", kernel, len(decisions))
	}
	if patch {
		return printPatches(found)
	}
	for i, d := range found {
		if i > 0 {
			fmt.Fprintln(told)
		}
		e := report.Options{Untaken: untaken}.Entry(d)
		report.Explain(stdout(), e)
		fmt.Fprintf(stdout(), "\n  %s\n", page.Why(e))
	}
	tellHazards(decisions, name)
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
