// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
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

Exit code 0: nothing lost; 1: a kernel is slower, or can't be compiled or launched any more; its recipe leaves other bits, or gains
less than the lock file says; 2: something went wrong, or nothing could be compared.
` + kernelUsage

// A comparing is how a comparison is asked for.
type comparing struct {
	toolkit, commit, flags string
	lock                   string

	all, static, json bool
}

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
	fs.BoolVar(&r.all, "all", false, "everything in the store, whatever folder it was built in")
	fs.BoolVar(&r.static, "static", false, "run nothing: compare machine code alone, of all kernels")
	fs.BoolVar(&r.json, "json", false, "as JSON")
	for _, other := range []string{"toolkit", "flags", "commit", "static", "json"} {
		oneOf(c, "lock", other)
	}
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
	case r.toolkit == "" && r.flags == "" && r.commit == "" && r.lock == "":
		return errors.New(
			"with what? --toolkit VERSION, --flags OPTIONS, --commit REVISION or --lock FILE")
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
