package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/cache/remote"
	"gnvcc/policy"
	"gnvcc/policy/selection"
	"gnvcc/policy/tuner"
	"gnvcc/profile/capture"
)

// showCaptures lists the launches that gnvcc tune has captured.
func showCaptures(store *cache.Store) error {
	s, err := tuner.Captures(store)
	if err != nil {
		return err
	}
	return printCaptures(stdout(), s)
}

func printCaptures(w io.Writer, s *capture.Store) error {
	list, skipped := s.List()
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for i, m := range list {
		if i == 0 {
			fmt.Fprintln(t, "id\tkernel\tgrid x block\tlaunch\tof\ttime\tmemory\tdevice\tmade")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%.3g s\t%.1f MiB\t%s\t%s\n", m.ID, policy.ShortName(m.Kernel),
			policy.Shape{Grid: m.Grid, Block: m.Block, Dynamic: m.Dynamic, Set: m.Use.Set},
			m.Nth, m.Use.Count, m.Weight(), float64(m.Filled)/(1<<20), m.Device,
			m.Made.Local().Format(time.DateTime))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(w, "no launches captured yet: gnvcc tune -- ./app captures some")
	}
	if skipped > 0 {
		fmt.Fprintf(w, "%d more can't be read (another version, or damaged); gnvcc tune removes them\n",
			skipped)
	}
	return nil
}

// dropCaptures removes some, or all.
func dropCaptures(store *cache.Store, ids []string) error {
	s, err := tuner.Captures(store)
	if err != nil {
		return err
	}
	if len(ids) == 1 && ids[0] == "all" {
		return s.Trim(capture.Limits{})
	}
	for _, id := range ids {
		if err := s.Drop(id); err != nil {
			return err
		}
	}
	return s.Trim(capture.Limits{Total: math.MaxInt64, Age: math.MaxInt64}) // those that were named
}

const capturesUsage = "replay the captures in this `folder`, or that gnvcc pull --captures brought under this name, not the store's"

// openCaptures opens captures that somebody else made: a folder, or what was pulled under a name.
func openCaptures(store *cache.Store, word string) (*capture.Store, error) {
	folder, err := filepath.Abs(word)
	if err != nil {
		return nil, err
	}
	name := word
	if in, err := filepath.Rel(store.RemotesDir(), folder); err == nil && filepath.IsLocal(in) {
		name, _, _ = strings.Cut(in, "/") // its last day may have passed
	} else if _, err := os.Stat(filepath.Join(folder, "launches")); err == nil {
		return capture.Open(folder)
	}
	if strings.Contains(name, "/") {
		return nil, fmt.Errorf("%s is no folder of captures", word)
	}
	if folder, err = remote.Captures(store, name); err != nil {
		return nil, fmt.Errorf("%s is no folder of captures: %w", word, err)
	}
	return capture.Open(folder)
}

const replayAbout = `Searches on the launches that gnvcc tune has captured, without the program: those of the kernels that KERNEL means, or all.
"gnvcc captures" lists them.
` + kernelUsage

// replayVerb searches on captures alone.
func replayVerb() *cobra.Command {
	o := policy.Defaults()
	o.Version = ownVersion()
	c := newVerb("replay [KERNEL]", "search again on captured launches, without the program", replayAbout, arguments(0, 1))
	fs := c.Flags()
	applyToo := fs.Bool("apply", false, "rebuild what can be faster, as gnvcc apply does")
	budget := seconds(time.Minute)
	fs.Var(&budget, "budget", "search for at most this `time` (60, or 1m30s), shared out by the kernels' shares of the GPU time and what a first look at them shows")
	fs.IntVar(&o.Jobs, "jobs", o.Jobs, "compile `n` candidates at a time")
	fs.StringSliceVar(&o.Levers, "levers", nil, "try only these levers (comma-separated `list`)")
	quiet := fs.Bool("quiet", false, "print errors only")
	folder := fs.String("captures", "", capturesUsage)
	completesKernels(c)
	on := fs.String("on", "", onUsage)
	return withStore(c, 2, func(store *cache.Store, args []string) error {
		engine, err := engineOf(*on)
		if err != nil {
			return err
		}
		if budget <= 0 {
			return errors.New("--budget must be more than 0")
		}
		var captures *capture.Store // nil: the store's
		if *folder != "" {
			if captures, err = openCaptures(store, *folder); err != nil {
				return err
			}
		}
		if len(args) == 1 {
			if o.Only, err = capturedKernels(store, captures, args[0]); err != nil {
				complain("replay", err)
				return exit(1)
			}
		}
		return tuneNow("replay", tuner.Request{Options: o, Apply: *applyToo,
			Budget: time.Duration(budget), On: engine,
			Captures: captures}, *quiet)
	})
}

// capturedKernels is what a word means among the kernels that launches are captured of.
func capturedKernels(store *cache.Store, s *capture.Store, word string) (*regexp.Regexp, error) {
	if s == nil {
		var err error
		if s, err = tuner.Captures(store); err != nil {
			return nil, err
		}
	}
	list, _ := s.List()
	captured := map[string]bool{}
	var kernels []selection.Kernel
	for _, m := range list {
		captured[m.Kernel] = true
		kernels = append(kernels, selection.Kernel{Name: m.Kernel})
	}
	for _, b := range builtKernels(store) { // for their identities
		if captured[b.Name] {
			kernels = append(kernels, b.selected())
		}
	}
	if _, err := selection.Of(word, kernels, itself); err != nil {
		return nil, fmt.Errorf(
			"no launches are captured of it (gnvcc tune -- ./app captures some, gnvcc captures lists them): %w", err)
	}
	return selection.Pattern(word, kernels)
}

const onUsage = "search by these `workers`, on several GPUs, a kernel each at a time: local:gpus=N, or slurm:n=N and options of salloc (partition=gpu, ...), whose nodes see the store and gnvcc"

// engineOf reads --on, nil without.
func engineOf(on string) (tuner.Engine, error) {
	if on == "" {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return tuner.NewEngine(on, self)
}
