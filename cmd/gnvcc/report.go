package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/driver/record"
	"gnvcc/driver/standing"
	"gnvcc/policy"
	"gnvcc/policy/page"
	"gnvcc/policy/report"
	"gnvcc/policy/selection"
	"gnvcc/policy/tuner"
	"gnvcc/profile/capture"
	"gnvcc/rewrite/hazard"
	"gnvcc/rewrite/ptx"
)

// reportVerb prints what is believed of the kernels: what was decided, and where locks
// are wrong.
func reportVerb() *cobra.Command {
	c := newVerb("report [FOLDER]",
		"show what became faster here, kernel by kernel, by the time it saves; --html FILE: as a page",
		"What was decided for the kernels that were built in and below a folder, the present one if none is named, and that programs\n"+
			"there launch: time, share, what is saved, registers, how it was checked; what saves most stands first (gnvcc explain KERNEL\n"+
			"has the rest). Then, as text only, locks that can make a kernel hang.", arguments(0, 1))
	fs := c.Flags()
	all := everywhere(c)
	asJSON := fs.Bool("json", false, "as JSON, with all evidence")
	html := fs.String("html", "", "write a page to `FILE`: one file that needs no network")
	oneOf(c, "json", "html")
	return withStore(c, 2, func(store *cache.Store, args []string) error {
		return showReport(store, args, *all, *asJSON, *html)
	})
}

func showReport(store *cache.Store, args []string, all, asJSON bool, html string) error {
	folder, err := folderOf(append(args, "."))
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return err
	}
	if all {
		folder = ""
	}
	mine, err := scopeOf(store, folder)
	if err != nil {
		return err
	}
	every, untaken, err := decided(store)
	if err != nil {
		return err
	}
	decisions := mine.of(every)
	shown := report.Options{Untaken: untaken, Place: mine.place}
	switch asked := asJSON || html != ""; {
	case len(decisions) == 0 && asked && len(every) > 0:
		fmt.Fprintln(stderr, "gnvcc:", mine.nothing(len(every)))
	case len(decisions) == 0 && !asked:
		fmt.Fprintln(stdout(), mine.nothing(len(every)))
		tellHazards(mine, nil)
		return nil
	}
	switch {
	case asJSON:
		return tellJSON("report", reported{mine.folder, shown.Entries(decisions)})
	case html != "":
		return writePage(mine.store, html, page.Input{Options: shown, Decisions: decisions, Version: ownVersion(), Made: time.Now(),
			Programs: programs(mine, decisions)})
	}
	tellPrograms(stdout(), programs(mine, decisions))
	if err := report.Write(stdout(), decisions, shown); err != nil {
		return err
	}
	tellHazards(mine, nil)
	return nil
}

// A reported is what report --json prints.
type reported struct {
	Folder  string         `json:"folder,omitempty"` // that was built in; "": everywhere
	Kernels []report.Entry `json:"kernels"`
}

// explainVerb prints all that is known of the kernels that a name matches.
func explainVerb() *cobra.Command {
	c := newVerb("explain KERNEL",
		"show all that is known of a kernel, and why it is built as it is",
		"All that is known of a kernel, and why it is built as it is; of all that KERNEL means.\n"+kernelUsage, arguments(1, 1))
	completesKernels(c)
	return withStore(c, 2, func(store *cache.Store, args []string) error {
		return explain(store, args[0])
	})
}

func explain(store *cache.Store, kernel string) error {
	decisions, untaken, err := decided(store)
	if err != nil {
		return err
	}
	everywhere, err := scopeOf(store, "")
	if err != nil {
		return err
	}
	kernels, err := selection.Of(kernel, known(store, decisions), itself)
	if err != nil {
		complain("explain", err)
		return exit(1)
	}
	meant := identities(kernels)
	found := slices.DeleteFunc(slices.Clone(decisions), func(d cache.Decision) bool { return !meant[d.Identity] })
	if len(found) == 0 { // built, not yet tuned
		ctx, stop := ended(context.Background())
		defer stop()
		p, err := newPrediction(ctx, store)
		if err != nil {
			return err
		}
		defer p.Close()
		built := slices.DeleteFunc(builtKernels(store), func(b builtKernel) bool { return !meant[b.Identity] })
		for _, b := range built { // by a lock file, or by a decision that was forgotten
			if b.Recipe != "" {
				fmt.Fprintf(stdout(), "%s in %s is built with %s, which is no decision of this store: see gnvcc status\n\n",
					ptx.ShortName(b.Name), b.source, b.Recipe)
			}
		}
		p.print(ctx, codes(built))
		return nil
	}
	o := report.Options{Untaken: untaken, Place: everywhere.place}
	if x, err := openSources(store); err == nil {
		defer x.compiler.Close()
		o.Site = x.site
	}
	ctx, stop := ended(context.Background())
	defer stop()
	balance, done := balances(ctx, store, found)
	defer done()
	for i, d := range found {
		if i > 0 {
			fmt.Fprintln(console)
		}
		e := o.Entry(d)
		report.Explain(stdout(), e)
		for i, line := range balance(d).Lines() {
			if i == 0 {
				fmt.Fprint(stdout(), "\n  nvcc's own code, from machine code alone (gnvcc predict has more):\n")
			}
			fmt.Fprintln(stdout(), "  "+line)
		}
		if !d.Pinned && !d.Predicted { // of which all is said
			fmt.Fprintf(stdout(), "\n  %s\n", page.Why(e))
		}
	}
	tellHazards(everywhere, meant)
	return nil
}

// decided are all decisions, in order of the kernels' names, and why no build takes the recipes of
// some.
func decided(store *cache.Store) ([]cache.Decision, func(cache.Decision) error, error) {
	sn, err := store.Snapshot()
	if err != nil && !errors.Is(err, cache.ErrNone) {
		return nil, nil, err
	}
	kn := standing.KnownOf(store, sn)
	defer kn.Close()
	for _, reason := range kn.Missing {
		fmt.Fprintln(stderr, "gnvcc:", reason)
	}
	all, err := kn.All()
	sort.SliceStable(all, func(i, j int) bool { return all[i].Kernel < all[j].Kernel })
	why := map[string]error{} // the snapshot is closed before it is asked
	for _, d := range all {
		why[untakenKey(d)] = kn.Untaken(d)
	}
	return all, func(d cache.Decision) error { return why[untakenKey(d)] }, err
}

func untakenKey(d cache.Decision) string { return fmt.Sprint(d.Pinned, d.Predicted, d.Key()) }

// each calls fn for the records of a bucket.
func each[T any](sn *cache.Snapshot, bucket string, fn func(string, T)) error {
	return sn.Each(bucket, "", func(key string, raw []byte) error {
		var r T
		if err := json.Unmarshal(raw, &r); err != nil {
			return fmt.Errorf("%s %s can't be read: %w", bucket, key, err)
		}
		fn(key, r)
		return nil
	})
}

// Whose decisions a report shows: those on kernels that were built in and below a folder, and those
// on kernels that programs there were seen to launch. A store serves all projects of a user.

// A scope is a folder's part of the store.
type scope struct {
	store   *cache.Store
	folder  string // absolute; "": everything
	kernels map[string]bool
	places  map[string]report.Place // by identity
	real    map[string]string       // folders, with symbolic links followed
}

// scopeOf looks at what was built and seen in and below a folder, "" for everywhere.
func scopeOf(store *cache.Store, folder string) (*scope, error) {
	s := &scope{store: store, folder: folder, kernels: map[string]bool{},
		places: map[string]report.Place{}, real: map[string]string{}}
	builds := apply.ReadBuilds(store)
	for _, built := range builds.Commands(nil) {
		here := s.below(built.Output) || slices.ContainsFunc(built.Files, s.below)
		for _, u := range built.Units {
			for _, k := range u.Kernels {
				if _, known := s.places[k.Identity]; u.Source != "" && (here || !known) {
					s.places[k.Identity] = report.Place{File: s.short(u.Source)}
				}
				s.kernels[k.Identity] = s.kernels[k.Identity] || here
			}
		}
	}
	list, err := tuner.Captures(store)
	if err != nil {
		return nil, err
	}
	for _, p := range list.Profiles() {
		for _, l := range p.Shapes {
			for _, at := range builds.Of(l.Cubin, l.Kernel) {
				place := s.places[at.Identity]
				if place.Program == "" || s.has(p) {
					place.Program = s.short(p.Program)
				}
				s.places[at.Identity] = place
				if s.has(p) {
					s.kernels[at.Identity] = true
				}
			}
		}
	}
	return s, nil
}

// has reports whether a program lies in or below the folder.
func (s *scope) has(p *capture.Profile) bool { return s.below(p.Program) }

// below reports so of a path, whichever way it was reached by.
func (s *scope) below(path string) bool {
	return strings.HasPrefix(s.followed(path), strings.TrimSuffix(s.folder, "/")+"/")
}

// followed is a path with the symbolic links of its folder followed.
func (s *scope) followed(path string) string {
	dir := filepath.Dir(path)
	real, known := s.real[dir]
	if !known {
		var err error
		if real, err = filepath.EvalSymlinks(dir); err != nil {
			real = dir
		}
		s.real[dir] = real
	}
	return filepath.Join(real, filepath.Base(path))
}

// short is a path as somebody in the folder would type it.
func (s *scope) short(path string) string {
	if s.folder != "" && s.below(path) {
		if rel, err := filepath.Rel(s.folder, s.followed(path)); err == nil {
			return rel
		}
	}
	return path
}

// of keeps the decisions on the folder's kernels.
func (s *scope) of(all []cache.Decision) []cache.Decision {
	if s.folder == "" {
		return all
	}
	var out []cache.Decision
	for _, d := range all {
		if s.kernels[d.Identity] {
			out = append(out, d)
		}
	}
	return out
}

func (s *scope) place(d cache.Decision) report.Place { return s.places[d.Identity] }

// nothing says that the folder has no decisions, and where some are.
func (s *scope) nothing(elsewhere int) string {
	switch {
	case elsewhere == 0:
		return "nothing decided yet: gnvcc tune -- ./app finds recipes for a program built with gnvcc"
	case !slices.Contains(slices.Collect(maps.Values(s.kernels)), true):
		return fmt.Sprintf("nothing was built with gnvcc in %s; the store has decisions on %s:"+
			" gnvcc report --all", s.folder, policy.Count(elsewhere, "kernel"))
	}
	return fmt.Sprintf("nothing decided yet for what was built in %s: gnvcc tune -- ./app finds recipes"+
		" (decisions on %s from elsewhere: gnvcc report --all)", s.folder, policy.Count(elsewhere, "kernel"))
}

// writePage writes a page with all that this store knows besides the decisions: programs, toolkits,
// recipes as source.
func writePage(store *cache.Store, path string, in page.Input) error {
	known := newestBuilt(store)
	if x, err := openSources(store); err == nil {
		defer x.compiler.Close()
		in.Site = x.site
	}
	in.Toolkit = func(d cache.Decision) string {
		if k, ok := known[d.Identity]; ok {
			return "ptxas " + k.Assembly.Version
		}
		return ""
	}
	ctx, stop := ended(context.Background())
	defer stop()
	balance, done := balances(ctx, store, in.Decisions)
	defer done()
	in.Balance = balance
	var b bytes.Buffer
	err := page.Write(&b, in)
	if err == nil {
		err = os.WriteFile(path, []byte(policy.Shown(b.String())), 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// programs are those of a scope that were observed, with what the decisions make of their time.
func programs(mine *scope, decisions []cache.Decision) []page.Program {
	s, err := tuner.Captures(mine.store)
	if err != nil {
		return nil
	}
	by := map[string][]cache.Decision{}
	for _, d := range decisions {
		key := d.Kernel + "\x00" + d.Evidence.Device
		by[key] = append(by[key], d)
	}
	var out []page.Program
	for _, p := range s.Profiles() {
		if !mine.has(p) {
			continue
		}
		x := page.Program{Name: mine.short(p.Program), Device: p.Devices(), Seconds: p.Seconds}
		for _, l := range p.Shapes {
			of := by[l.Kernel+"\x00"+p.On(l)]
			r, why := foundFor(l, of)
			r = 1 - (1-r)*ownOf(l, of)
			if r != 1 {
				x.Faster += l.Seconds
			}
			x.After += l.Seconds * r
			x.Pieces = append(x.Pieces, policy.Piece{Kernel: policy.ShortName(l.Kernel),
				Seconds: l.Seconds, After: l.Seconds * r, Why: why})
		}
		for _, g := range p.Unseen {
			x.Seconds, x.After = x.Seconds+g.Seconds, x.After+g.Seconds
			x.Pieces = append(x.Pieces, policy.Piece{Kernel: policy.OfGraphs, Seconds: g.Seconds,
				After: g.Seconds, Why: g.Why})
		}
		x.Pieces = policy.ByTime(x.Pieces)
		x.Gaps = gaps(p)
		out = append(out, x)
	}
	return out
}

// gaps are what a program's last run did in no kernel.
func gaps(p *capture.Profile) []report.Gap {
	return report.Gaps(p.Calls, p.Follows, p.Seconds/float64(max(p.Runs, 1)))
}

// ownOf is the part of what launches of one size took in the program that they take by themselves,
// where that is less than half: they waited for others, or have more to do than what was measured.
// Of that part alone is what a recipe gains. 1: nearly all, or not known.
func ownOf(l capture.Line, decisions []cache.Decision) float64 {
	seconds, count := 0.0, 0
	for _, d := range decisions {
		for _, m := range d.Evidence.Launches {
			if m.Grid == l.Grid && m.Block == l.Block && m.Dynamic == l.Dynamic {
				seconds, count = seconds+float64(m.Count)*m.Before.Median/1e9, count+m.Count
			}
		}
	}
	if count == 0 || l.Seconds <= 0 {
		return 1
	}
	if own := seconds / float64(count) * float64(l.Count) / l.Seconds; own > 0 && own < 0.5 {
		return own
	}
	return 1
}

// foundFor gives, of launches of one size, which part of their time is left with what was decided
// of their kernel, and why they were not looked at, "" where they were: measured, or between
// measured ones, as all of the kernel that were not measured are in the same part.
func foundFor(l capture.Line, decisions []cache.Decision) (ratio float64, why string) {
	ratio, why = 1, cmp.Or(l.Why, "nothing was decided")
	for _, d := range decisions {
		e := &d.Evidence
		adopted := d.Recipe != "" && !d.Pinned && !d.Predicted
		if len(e.Launches) == 0 {
			if why = cmp.Or(e.Note, "nothing was measured"); adopted {
				ratio = e.Ratio() // a lock file's
			}
			continue
		}
		before, after := 0.0, 0.0
		for _, m := range e.Launches {
			if m.Grid == l.Grid && m.Block == l.Block && m.Dynamic == l.Dynamic {
				one := cache.Evidence{Launches: []cache.Launch{m}}
				b, a := one.Whole()
				before, after = before+b, after+a
			}
		}
		if before > 0 {
			if why = ""; adopted {
				ratio = after / before
			}
			return ratio, why
		}
		why = "launches of this size were not measured"
		if r := e.Rest; r != nil && r.Between > 0 {
			if adopted {
				ratio = (r.After + r.Others) / (r.Between + r.Others)
			}
			if r.Others == 0 {
				why = ""
			}
		}
	}
	return ratio, why
}

// tellPrograms says of each program how much of its time became faster.
func tellPrograms(w io.Writer, list []page.Program) {
	for _, p := range list {
		fmt.Fprintf(w, "%s: %.3g s on %s, %.0f %% of it in kernels\n", p.Name, p.Seconds, p.Device,
			p.Percent())
		fmt.Fprintf(w, "that became faster: about %.3g s with their recipes\n", p.After)
		fmt.Fprint(w, report.GapsText(p.Gaps))
	}
	if len(list) > 0 {
		fmt.Fprintln(w)
	}
}

// What a report says of locks: worked out anew from the PTX that builds have kept, so that it needs no
// tuning.
// tellHazards prints what there is to say, nothing where there is nothing. meant are the kernels'
// identities, nil: all.
func tellHazards(mine *scope, meant map[string]bool) {
	w, store := stdout(), mine.store
	wanted := make(map[string][]string) // names of kernels, by PTX
	var order []string
	for _, b := range record.Built(store) {
		if mine.folder != "" && !mine.kernels[b.Identity] {
			continue
		}
		if meant != nil && !meant[b.Identity] {
			continue
		}
		text := b.Assembly.PTX
		if wanted[text] == nil {
			order = append(order, text)
		}
		wanted[text] = append(wanted[text], b.Name)
	}
	type finding struct {
		text, place string // the place is a line of the source, or a kernel without its template's arguments
	}
	names := make(map[finding][]string) // of kernels
	var found []finding
	for _, hash := range order {
		text, err := store.Object(hash)
		// trimmed, or nothing to say
		if err != nil || !bytes.Contains(text, []byte("atom")) && !bytes.Contains(text, []byte("bar")) {
			continue
		}
		m, err := ptx.Parse(text)
		if err != nil {
			continue // builds leave such a file alone, and say so
		}
		for _, kernel := range wanted[hash] {
			dangers, err := hazard.Find(m, kernel)
			if err != nil {
				continue
			}
			for _, f := range dangers {
				name := policy.ShortName(kernel)
				base, _, _ := strings.Cut(name, "<")
				one := finding{f.String(), cmp.Or(f.Where, base)}
				if names[one] == nil {
					found = append(found, one)
				}
				if !slices.Contains(names[one], name) { // else it is for another target
					names[one] = append(names[one], name)
				}
			}
		}
	}
	if len(found) > 0 {
		fmt.Fprint(w, "\nLocks and barriers, judged from the code (nothing was run; -lineinfo gives lines):\n")
	}
	for _, one := range found { // once, however many instances of a template have it
		who := names[one][0]
		if more := len(names[one]) - 1; more > 0 {
			who += fmt.Sprintf(" and %s", policy.Count(more, "other kernel"))
		}
		fmt.Fprintf(w, "  %s: %s\n", who, one.text)
	}
}
