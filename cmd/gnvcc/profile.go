package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gnvcc/driver/environment"
	"gnvcc/driver/toolkit"
	"gnvcc/policy"
	"gnvcc/policy/tuner"
	"gnvcc/profile"
	"gnvcc/profile/capture"
)

const profileAbout = `Runs a program and notes what it does on the GPU; with --show: shows what is known, of PROGRAM or of the one observed last.
Counts, configurations and times of launches, the sets of argument values that have weight, how far other streams' kernels run
beside, and the most memory, over all runs observed; gnvcc tune observes, too. Some launches are timed: the first four with
the same values, then one of 64, and now and then 32 in a row.`

// profileVerb observes a program, or shows what is known of one.
func profileVerb() *cobra.Command {
	c := newVerb("profile [--show] [--json] [--] PROGRAM [ARGUMENTS]", "show what a program does on the GPU", profileAbout, arguments(0, -1))
	show := c.Flags().Bool("show", false, "show what is known")
	asJSON := c.Flags().Bool("json", false, "as JSON")
	commandBehind(c)
	return tries(c, 2, func(args []string) error { return profiles(args, *show, *asJSON) })
}

func profiles(args []string, show, asJSON bool) error {
	switch {
	case len(args) == 0 && !show:
		return errors.New("which program? gnvcc profile -- ./app arguments; gnvcc profile --show shows what is known")
	case len(args) > 1 && show:
		return errors.New("--show takes one program at most")
	}
	if !show && !driverHere() {
		return withoutDriver("profile")
	}
	store, err := openStore()
	if err != nil {
		return err
	}
	s, err := tuner.Captures(store)
	if err != nil {
		return err
	}
	if show {
		return showProfile(s, strings.Join(args, ""), asJSON)
	}
	self, _ := os.Executable()
	toolkit, err := toolkit.Find(self, environment.Read())
	if err != nil {
		return err
	}
	signals := newRelay()
	defer signals.Close()
	over := during("building the agent")
	library, err := tuner.BuildAgent(signals.Tuning(), store, toolkit.Dir())
	over()
	if err != nil {
		return err
	}
	argv := args
	if argv[0], err = exec.LookPath(argv[0]); err != nil {
		complain("profile", err)
		return exit(127)
	}
	scratch, err := tuner.SocketScratch()
	if err != nil {
		return err
	}
	defer scratch.Remove()
	seen, err := tuner.Observation{Captures: s,
		Program: profile.Options{Argv: argv, Agent: library, Scratch: scratch.Path,
			Signals: signals.Pass(), Log: func(format string, args ...any) {
				fmt.Fprintf(stderr, "gnvcc: "+format+"\n", args...)
			}},
		Wanted: func(*profile.Launch) error { return errors.New("only observed") }}.Observe()
	if err != nil {
		return err
	}
	end := seen.Exit
	if len(seen.Seen)+len(seen.Unseen) == 0 {
		fmt.Fprintln(stderr, "gnvcc: the program launched no kernel, or uses no GPU")
		return exit(end.Code)
	}
	if err := showProfile(s, seen.Program, asJSON); err != nil || end.Code == 0 {
		return err
	}
	return exit(end.Code)
}

func showProfile(s *capture.Store, program string, asJSON bool) error {
	var p *capture.Profile
	var err error
	if program == "" {
		all := s.Profiles()
		if len(all) == 0 {
			return errors.New("no program observed yet: gnvcc profile -- ./app")
		}
		p = all[0]
	} else if p, err = s.Profile(tuner.Absolute(program)); err != nil {
		return err
	}
	if asJSON {
		return tellJSON("profile", p)
	}
	return printProfile(stdout(), p)
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
	fmt.Fprintln(t, "share\ttime\tlaunches\ta launch\ttimed\tother arguments\tbeside others\tkernel\tgrid x block")
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
