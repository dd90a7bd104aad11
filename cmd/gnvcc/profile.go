package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/tuner"
	"gnvcc/profile"
	"gnvcc/profile/capture"
)

// observed shows what a run that was only observed did.
func observed(store *cache.Store, f tuner.Found) error {
	if f.Observed == "" {
		fmt.Fprintln(stderr, "gnvcc: the program launched no kernel, or uses no GPU")
		return nil
	}
	return showProfile(store, f.Observed)
}

// showProfile shows what is known of a program, "": the one observed last.
func showProfile(store *cache.Store, program string) error {
	s, err := tuner.Captures(store)
	if err != nil {
		return err
	}
	if program != "" {
		p, err := s.Profile(program)
		if err != nil {
			return err
		}
		return printProfile(stdout(), p)
	}
	all := s.Profiles()
	if len(all) == 0 {
		return errors.New("no program observed yet: gnvcc tune --observe -- ./app")
	}
	return printProfile(stdout(), all[0])
}

// on names the GPU of a line where the program ran on several models.
func on(p *capture.Profile, l capture.Line) string {
	if p.Devices() == p.On(l) {
		return ""
	}
	return ", on " + p.On(l)
}

// printProfile prints configurations, the heaviest first, each with its sets of values.
func printProfile(w io.Writer, p *capture.Profile) error {
	fmt.Fprintf(w, "%s: %d runs on %s, %.3g s on the GPU (estimated from the launches that were timed)", p.Program, p.Runs, p.Devices(), p.Seconds)
	if p.Peak > 0 {
		fmt.Fprintf(w, ", %.1f MiB of its memory at most", float64(p.Peak)/(1<<20))
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "share\ttime\tlaunches\ta launch\ttimed\targument sets\tconcurrent\tkernel\tgrid x block")
	row := func(x profile.Set, more string) {
		fmt.Fprintf(t, "%.1f %%\t%.3g s\t%d\t%.3g us\t%d\t%s\n", 100*x.Seconds/max(p.Seconds, 1e-12), x.Seconds, x.Count,
			1e6*x.Seconds/float64(max(x.Count, 1)), x.Sampled, more)
	}
	for _, l := range p.Shapes {
		beside := "-"
		if l.Watched > 0 {
			beside = fmt.Sprintf("%.0f %%", 100*l.Beside/l.Watched)
		}
		row(profile.Set{Seconds: l.Seconds, Count: l.Count, Sampled: l.Sampled}, fmt.Sprintf("%d\t%s\t%s\t%s", l.Varied, beside, policy.ShortName(l.Kernel),
			policy.Shape{Grid: l.Grid, Block: l.Block, Dynamic: l.Dynamic})+on(p, l))
		parts, rest := l.Parts()
		for _, x := range parts {
			row(x.Set, "\t\t  with "+x.Words+"\t")
		}
		if len(parts) > 0 && rest.Count > 0 {
			row(rest, "\t\t  with other values\t")
		}
	}
	for _, g := range p.Unseen {
		fmt.Fprintf(t, "beside\t%.3g s\t%d\t%.3g us\t\t\t\t%s: %s\t\n", g.Seconds, g.Launches,
			1e6*g.Seconds/float64(max(g.Launches, 1)), policy.OfGraphs, g.Why)
	}
	return t.Flush()
}
