// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
	"gnvcc/policy"
	"gnvcc/policy/compare"
	"gnvcc/policy/selection"
	"gnvcc/policy/tuner"
)

const compareAbout = `Builds what is on record here twice, as it was recorded and with another toolkit, other options, for another GPU or from another
commit, and compares the kernels: registers, spills, instructions, occupancy for the blocks that were seen, launches that are no
longer possible. On a machine with a GPU the captured launches are replayed by both builds in turn: which are slower or faster,
which leave other bits. Nothing of yours is written.

With --lock the captured kernels are built as a build would now, with their recipes, their launches are replayed, and what the
lock file says that recipes gain is checked: a regression suite.

With --baseline the kernels are compared with a text file for git, without a GPU: registers, spills, stack, shared memory (bytes)
and instructions of nvcc's own code. A kernel is worse with more spills or stack, or with over 5 % (--threshold) more registers
or instructions. With --update the file is written.

Exit code 0: nothing lost; 1: a kernel is worse than its baseline or slower, or can't be compiled or launched any more; its recipe leaves other bits, or gains
less than the lock file says; 2: something went wrong, or nothing could be compared.
` + kernelUsage

// A comparing is how a comparison is asked for.
type comparing struct {
	toolkit, commit, flags string
	lock, baseline         string
	threshold              float64 // percent
	update                 bool

	all, static, json bool
}

// standardThreshold is what --threshold is without a word of the user's, percent.
const standardThreshold = 5

// compareVerb holds two builds of the same kernels against each other.
func compareVerb() *cobra.Command {
	c := newVerb("compare [KERNEL]",
		"what another toolkit, other flags or another commit do to the kernels; on captured launches",
		compareAbout, arguments(0, 1))
	fs := c.Flags()
	var r comparing
	fs.StringVar(&r.toolkit, "toolkit", "", "build with this CUDA `version` (13.5), or the toolkit in a folder")
	fs.StringVar(&r.flags, "flags", "", "build with these `options` of nvcc's as well: \"-use_fast_math\", \"-arch=sm_100\"")
	fs.StringVar(&r.commit, "commit", "", "build the tree of this git `revision`")
	fs.StringVar(&r.lock, "lock", "", "check what this lock `file` says that recipes gain")
	fs.StringVar(&r.baseline, "baseline", "", "compare machine code with this `file`'s figures")
	fs.BoolVar(&r.update, "update", false, "write the file of --baseline")
	fs.Float64Var(&r.threshold, "threshold", standardThreshold, "with --baseline: so many `percent` more registers or instructions are no loss")
	fs.BoolVar(&r.all, "all", false, "everything in the store, whatever folder it was built in")
	fs.BoolVar(&r.static, "static", false, "run nothing: compare machine code alone, of all kernels")
	fs.BoolVar(&r.json, "json", false, "as JSON")
	for _, other := range []string{"toolkit", "flags", "commit", "static", "json"} {
		oneOf(c, "lock", other)
		oneOf(c, "baseline", other)
	}
	oneOf(c, "baseline", "lock")
	completesKernels(c)
	return onStore(c, 2, r.run)
}

// compared is a comparison as JSON.
type compared struct {
	Before, After string // the builds
	Losses        int
	Kernels       []*compare.Kernel
	Failed        []compare.Failure
}

func (r *comparing) run(ctx context.Context, store *cache.Store, args []string) error {
	a := compare.Ask{Store: store, All: r.static, Progress: progressLine}
	if err := r.ways(&a); err != nil {
		return err
	}
	if !r.all {
		here, err := folderOf([]string{"."})
		if err != nil {
			return err
		}
		a.Folders = []string{here}
	}
	if r.baseline != "" {
		return r.drift(ctx, a, args)
	}
	if len(args) == 1 {
		found, err := selection.Of(args[0], builtKernels(store), builtKernel.selected)
		if err != nil {
			return err
		}
		meant := map[string]bool{}
		for _, b := range found {
			meant[b.Identity] = true
		}
		a.Wanted = func(_, identity string) bool { return meant[identity] }
	}
	if r.lock != "" {
		return r.claims(ctx, a)
	}
	p, err := compare.Build(ctx, a)
	if err != nil {
		return err
	}
	defer p.Close()
	known, _, err := decided(store)
	if err != nil {
		return err
	}
	if err := p.Look(a, known); err != nil {
		return err
	}
	if p.Captured() && !r.static {
		if !driverHere() {
			fmt.Fprintln(stderr, "gnvcc compare: no NVIDIA driver here: nothing is run, machine code alone is compared")
		} else {
			b, err := newBench(ctx, store)
			if err == nil {
				err = p.Replay(ctx, b, progressLine)
			}
			if err != nil {
				return err
			}
		}
	}
	progressLine("")
	if r.json {
		err = tellJSON("compare", compared{p.Before, p.After, p.Losses(), p.Kernels, p.Failed})
	} else {
		err = p.Print(stdout())
	}
	if err != nil {
		return err
	}
	return r.outcome(p)
}

// drift compares with a baseline, or writes it.
func (r *comparing) drift(ctx context.Context, a compare.Ask, args []string) error {
	file, err := filepath.Abs(r.baseline)
	switch {
	case err != nil:
		return err
	case len(args) > 0:
		return errors.New("a baseline is of all kernels: it can't be combined with KERNEL")
	case r.threshold < 0:
		return errors.New("--threshold is a percentage, 0 or more")
	}
	var old *compare.Baseline
	if !r.update {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("there is no %s: --update writes it", r.baseline)
		}
		if err == nil {
			old, err = compare.ReadBaseline(text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.baseline, err)
		}
	}
	now, err := compare.Base(ctx, a, filepath.Dir(file))
	progressLine("")
	if err != nil {
		return err
	}
	if r.update {
		if err = replaceFile(file, now.Text()); err == nil {
			fmt.Fprintf(stdout(), "%s has %s, by %s\n", r.baseline, policy.Count(len(now.Kernels), "kernel"), now.Built)
		}
		return err
	}
	d := now.Against(old, r.threshold)
	if err := d.Print(stdout()); err != nil {
		return err
	}
	switch {
	case d.Worse > 0:
		return exit(1)
	case d.Compared == 0:
		return errors.New("nothing could be compared: the baseline has none of these kernels (--update writes it anew)")
	}
	return nil
}

// claims checks what a lock file says.
func (r *comparing) claims(ctx context.Context, a compare.Ask) error {
	_, lines, err := readLock(r.lock)
	if err != nil {
		return err
	}
	if !driverHere() {
		return errors.New("no NVIDIA driver here: nothing was run (without --lock machine code is compared without one)")
	}
	got, err := compare.Claimed(ctx, a, func() (*compare.Bench, error) { return newBench(ctx, a.Store) }, lines)
	progressLine("")
	if err != nil {
		return err
	}
	if err := got.Print(stdout()); err != nil {
		return err
	}
	if got.Losses > 0 {
		return exit(1)
	}
	return nil
}

// ways are the two ways of building.
func (r comparing) ways(a *compare.Ask) error {
	switch {
	case r.baseline == "" && (r.update || r.threshold != standardThreshold):
		return errors.New("--update and --threshold go with --baseline FILE")
	case r.toolkit == "" && r.flags == "" && r.commit == "" && r.lock == "" && r.baseline == "":
		return errors.New(
			"with what? --toolkit VERSION, --flags OPTIONS, --commit REVISION, --lock FILE or --baseline FILE")
	}
	a.After = compare.Way{Toolkit: r.toolkit, Commit: r.commit, Flags: toolcmd.Words(r.flags)}
	return nil
}

// newBench builds what replays launches, where it is not built yet.
func newBench(ctx context.Context, store *cache.Store) (*compare.Bench, error) {
	captures, err := tuner.Captures(store)
	if err != nil {
		return nil, err
	}
	b := &compare.Bench{Captures: captures, GPU: gpu, Say: func(string, ...any) {}}
	if watchTools != nil {
		b.Agent, b.Replayer, err = watchTools()
	} else {
		b.Agent, b.Replayer, err = tuner.Tools(ctx, store)
	}
	return b, err
}

// outcome is the exit code.
func (r comparing) outcome(p *compare.Pair) error {
	if p.Losses() > 0 {
		return exit(1)
	}
	for _, f := range p.Failed {
		if f.Before {
			return exit(2)
		}
	}
	return nil
}

// progressLine says on a terminal how far a verb is; "" takes that back.
func progressLine(text string) {
	if !isTerminal(os.Stderr) {
		return
	}
	fmt.Fprint(stderr, "\r\x1b[K")
	if text != "" {
		io.WriteString(stderr, "gnvcc: "+text)
	}
}
