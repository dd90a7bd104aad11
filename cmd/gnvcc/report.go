package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"sort"

	"gnvcc/cache"
	"gnvcc/policy/report"
)

// showReport prints what is believed of the kernels: what was decided, and where locks and barriers are wrong; or, with
// -predict, what can be said without a GPU.
func showReport(args []string) int {
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), "usage: gnvcc report [options]\n\nWhat was decided for each kernel: registers, occupancy, times with their spread, how it was checked. Then, as\ntext only, locks and barriers that can make a kernel hang.\n\n")
		fs.PrintDefaults()
	}
	verbose := fs.Bool("v", false, "tell what was tried and why it was refused, too")
	asJSON := fs.Bool("json", false, "as JSON, with all evidence")
	kernel := fs.String("kernel", "", "only kernels whose name matches this regular `expression`, in full")
	predict := fs.Bool("predict", false, "what can be said of the kernels that were built, without a GPU")
	if code, ok := parse(fs, args); !ok {
		return code
	}
	o := report.Options{Verbose: *verbose, JSON: *asJSON}
	var err error
	if *kernel != "" {
		if o.Kernel, err = regexp.Compile(*kernel); err != nil {
			return complain("report", err)
		}
	}
	if *predict {
		return foresee(o)
	}
	decisions, err := decided()
	if err != nil {
		return complain("report", err)
	}
	if len(decisions) == 0 && !o.JSON {
		fmt.Println("nothing was decided yet: run a program that was built with gnvcc under gnvcc tune")
		tellHazards(decisions, o.Kernel)
		return 0
	}
	if err := report.Write(os.Stdout, decisions, o); err != nil {
		return complain("report", err)
	}
	if !o.JSON {
		tellHazards(decisions, o.Kernel)
	}
	return 0
}

// explain tells all that is known of the kernels that a name matches.
func explain(args []string) int {
	fs := flag.NewFlagSet("explain", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), "usage: gnvcc explain KERNEL\n\nAll that is known of a kernel, and why it is built as it is. KERNEL is a part of its name, or a regular expression.\n")
	}
	if code, ok := parse(fs, args); !ok {
		return code
	}
	if fs.NArg() != 1 {
		fs.Usage()
		return 2
	}
	name, err := regexp.Compile(fs.Arg(0))
	if err != nil {
		return complain("explain", err)
	}
	decisions, err := decided()
	if err != nil {
		return complain("explain", err)
	}
	found := false
	for _, d := range decisions {
		if e := report.NewEntry(d); name.MatchString(d.Kernel) || name.MatchString(e.Kernel) {
			if found {
				fmt.Println()
			}
			report.Explain(os.Stdout, e)
			found = true
		}
	}
	if !found {
		if n, err := foretold(context.Background(), name); err == nil && n > 0 { // built, not yet tuned
			return 0
		}
		return complain("explain", fmt.Errorf("nothing was decided for a kernel called %s; gnvcc report lists those that are known", fs.Arg(0)))
	}
	tellHazards(decisions, name)
	return 0
}

// decided are all decisions, in order of the kernels' names.
func decided() ([]cache.Decision, error) {
	store, err := openStore()
	if err != nil {
		return nil, err
	}
	sn, err := store.Snapshot()
	if errors.Is(err, cache.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	var all []cache.Decision
	pinned := map[string]bool{}
	err = eachDecision(sn, cache.Pins, func(d cache.Decision) {
		pinned[d.Identity] = true
		all = append(all, d)
	})
	if err != nil {
		return nil, err
	}
	measured, err := sn.AllDecisions()
	for _, d := range measured {
		if !pinned[d.Identity] {
			all = append(all, d)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Kernel < all[j].Kernel })
	return all, err
}

// eachDecision calls fn for the decisions of a bucket.
func eachDecision(sn *cache.Snapshot, bucket string, fn func(cache.Decision)) error {
	return sn.Each(bucket, "", func(key string, raw []byte) error {
		var d cache.Decision
		if err := json.Unmarshal(raw, &d); err != nil {
			return fmt.Errorf("decision %s can't be read: %w", key, err)
		}
		fn(d)
		return nil
	})
}

// parse reads a verb's flags; ok tells whether to go on.
func parse(fs *flag.FlagSet, args []string) (code int, ok bool) {
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0, false
	case err != nil:
		return 2, false
	}
	return 0, true
}
