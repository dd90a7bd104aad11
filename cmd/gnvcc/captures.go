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
	"gnvcc/policy"
	"gnvcc/policy/compare"
	"gnvcc/policy/selection"
	"gnvcc/policy/tuner"
	"gnvcc/profile/capture"
	"gnvcc/profile/replay"
)

const capturesAbout = `Without an argument: lists the launches that gnvcc tune has captured.
  drop ID... | drop all    remove some
  export ID FOLDER         write one as a folder that runs by itself: make run
  shrink FOLDER            copy of each kernel the smallest that ranks builds as its heaviest does (measured): for gnvcc bench`

// capturesVerb lists, drops and exports captures.
func capturesVerb() *cobra.Command {
	c := newVerb("captures [drop ID... | export ID FOLDER | shrink FOLDER]",
		"list captured launches; drop or export some, or copy small ones for gnvcc bench", capturesAbout, arguments(0, -1))
	return withStore(c, 2, listCaptures)
}

func listCaptures(store *cache.Store, args []string) error {
	s, err := tuner.Captures(store)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		return printCaptures(stdout(), s)
	case args[0] == "drop" && len(args) > 1:
		return dropCaptures(s, args[1:])
	case args[0] == "export" && len(args) == 3:
		return exportCapture(s, args[1], args[2])
	case args[0] == "shrink" && len(args) == 2:
		return shrinkCaptures(store, args[1])
	}
	return fmt.Errorf(
		"expected drop ID..., export ID FOLDER or shrink FOLDER, not %q\nusage: gnvcc captures [drop ID... | export ID FOLDER | shrink FOLDER]",
		strings.Join(args, " "))
}

// shrinkCaptures copies small captures into a folder, for gnvcc bench.
func shrinkCaptures(store *cache.Store, to string) error {
	if !driverHere() {
		return withoutDriver("captures")
	}
	ctx, stop := ended(context.Background())
	defer stop()
	list, err := compare.Shrink(ctx, compare.Ask{Store: store, Progress: progressLine},
		func() (*compare.Bench, error) { return newBench(ctx, store) }, to)
	progressLine("")
	for _, s := range list {
		fmt.Fprintf(stdout(), "%s: %s, %.1f MiB; %s had %.1f MiB", s.Kernel, s.Kept.ID,
			float64(s.Bytes)/(1<<20), policy.Count(s.Of, "capture"), float64(s.Was)/(1<<20))
		if s.Why != "" {
			fmt.Fprintf(stdout(), " (%s)", s.Why)
		}
		fmt.Fprintln(stdout())
	}
	return err
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

func dropCaptures(s *capture.Store, ids []string) error {
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

// exportCapture writes the launch, the replayer's source and a Makefile.
func exportCapture(s *capture.Store, id, dir string) error {
	m, err := s.Load(id)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("exporting a capture: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, "launch.capture"))
	if err != nil {
		return fmt.Errorf("exporting a capture: %w", err)
	}
	err = s.Write(m, &capture.File{File: f})
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("exporting capture %s: %w", id, err)
	}
	text := fmt.Sprintf(
		"# %q, captured on %q (CUDA %d.%d): does the launch again, and compares what it leaves.\n"+
			"CUDA ?= /usr/local/cuda\nrun: replay\n\t@rm -f status; ./replay launch.capture status; code=$$?; cat status; exit $$code\n"+
			"replay: $(wildcard *.c *.h hash.ptx)\n\t$(CC) -std=gnu11 -O2 -I$(CUDA)/include -o $@ $(wildcard *.c) -ldl -lpthread\n",
		policy.ShortName(m.Kernel), m.Device, m.Driver/1000, m.Driver%1000/10)
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(text), 0o644); err != nil {
		return fmt.Errorf("exporting a capture: %w", err)
	}
	return replay.Source(dir)
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
