package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/policy"
	"gnvcc/policy/predicted"
	"gnvcc/policy/selection"
	"gnvcc/policy/tuner"
	"gnvcc/sim"
)

// predictVerb ranks builds of kernels from their machine code, without a GPU.
func predictVerb() *cobra.Command {
	c := newVerb("predict [--adopt | --curve] [--block N] [KERNEL]",
		"what limits kernels, and which recipes for registers to measure first; needs no GPU",
		"What limits the kernels that were built, and which recipes for their registers are worth a measurement (caps, and values kept\n"+
			"in shared memory), read from their machine code. Nothing is run: gnvcc tune measures.\n"+kernelUsage, arguments(0, 1))
	adopt := c.Flags().Bool("adopt", false,
		"keep what is predicted to be fastest of each kernel that nothing was decided for: only builds with GNVCC_PREDICT=1 take it, and no build once the kernel was measured")
	block := c.Flags().Int("block", 0, "threads of a block, in place of the heaviest launch that is known, or 256")
	curve := c.Flags().Bool("curve", false, "draw what the kernel spills and how many warps are resident, over every register count")
	oneOf(c, "adopt", "curve")
	completesKernels(c)
	return onStore(c, 2, func(ctx context.Context, store *cache.Store, args []string) error {
		return predict(ctx, store, strings.Join(args, ""), *adopt, *curve, *block)
	})
}

func predict(ctx context.Context, store *cache.Store, kernel string, adopt, curve bool, block int) error {
	if block < 0 || block > sim.BlockThreads {
		complain("predict", fmt.Errorf("--block %d: a block has 1 to %d threads", block, sim.BlockThreads))
		return exit(1)
	}
	p, err := newPrediction(ctx, store)
	if err != nil {
		return err
	}
	defer p.Close()
	p.Block = block
	built := builtKernels(store)
	if len(built) == 0 && kernel == "" {
		fmt.Fprintln(console, "no kernel is known yet: build a program with gnvcc")
		return nil
	}
	if kernel == "" {
		all := len(built)
		if built = slices.DeleteFunc(built, func(b builtKernel) bool { return !b.below() }); len(built) == 0 {
			fmt.Fprintf(console, "nothing was built in this folder; of %s elsewhere name one: gnvcc predict KERNEL\n",
				policy.Count(all, "kernel"))
			return nil
		}
	}
	found, err := selection.Of(kernel, built, builtKernel.selected)
	if err != nil {
		complain("predict", err)
		return exit(1)
	}
	if adopt {
		return p.adopt(ctx, codes(found))
	}
	if curve {
		return p.curves(ctx, codes(found))
	}
	p.print(ctx, codes(found))
	return nil
}

// below tells whether a kernel was built in the present folder or below it, or its source lies there.
func (b builtKernel) below() bool {
	here, err := os.Getwd()
	if err != nil {
		return true
	}
	for _, path := range []string{b.Assembly.Dir, b.source} {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if real, err := filepath.EvalSymlinks(here); err == nil {
			here = real
		}
		if rel, err := filepath.Rel(here, path); err == nil && path != "" && rel != ".." && !strings.HasPrefix(rel, "../") {
			return true
		}
	}
	return false
}

// A prediction is what the verbs that predict need.
type prediction struct {
	*tuner.Predictor
	decisions *tuner.Decisions
}

func newPrediction(ctx context.Context, store *cache.Store) (*prediction, error) {
	decisions, err := tuner.ReadDecisions(ctx, store)
	if err != nil {
		return nil, err
	}
	all, _, err := decided(store)
	if err != nil {
		return nil, err
	}
	p, err := tuner.NewPredictor(store, all, ownVersion())
	return &prediction{p, decisions}, err
}

// print prints what can be predicted of kernels; what that rests on once for all of which it is true.
func (p *prediction) print(ctx context.Context, list []record.BuiltKernel) {
	said := ""
	for _, b := range list {
		seen, err := p.Predict(ctx, b)
		if err == nil {
			assumed := cmp.Or(strings.Join(seen.Assumed, ", "), "nothing, its launches are known")
			if said == "" {
				fmt.Fprint(stdout(), predicted.Header)
			}
			if said != "" {
				fmt.Fprintln(console)
			}
			if said != assumed {
				fmt.Fprintf(stdout(), "Assumed of what follows: %s.\n\n", assumed)
			}
			said = assumed
			err = seen.Print(stdout())
		}
		if err != nil {
			fmt.Fprintf(stdout(), "%s (%s): nothing can be predicted: %v\n", policy.ShortName(b.Name),
				b.Assembly.Target, err)
		}
	}
}

// curves draws kernels over every register count.
func (p *prediction) curves(ctx context.Context, list []record.BuiltKernel) error {
	for _, b := range list {
		seen, err := p.Curve(ctx, b)
		if err != nil {
			fmt.Fprintf(stdout(), "%s (%s): nothing can be drawn: %v\n", policy.ShortName(b.Name), b.Assembly.Target, err)
			continue
		}
		if err := seen.Print(stdout()); err != nil {
			return err
		}
		fmt.Fprintln(console)
	}
	return ctx.Err()
}

// balances are the X-models of decisions' kernels, nil where one can't be had: not built here, say.
// done removes what was compiled for them.
func balances(ctx context.Context, store *cache.Store, all []cache.Decision) (of func(cache.Decision) *predicted.Balance, done func()) {
	p, err := tuner.NewPredictor(store, all, ownVersion())
	if err != nil {
		return func(cache.Decision) *predicted.Balance { return nil }, func() {}
	}
	built := newestBuilt(store)
	return func(d cache.Decision) *predicted.Balance {
		b, ok := built[d.Identity]
		if !ok {
			return nil
		}
		x, _ := p.Balance(ctx, b)
		return x
	}, p.Close
}

// adopt keeps, for each of some kernels that nothing was decided for, the recipe that is predicted
// to be fastest. What was predicted of it before is replaced, or taken back.
func (p *prediction) adopt(ctx context.Context, list []record.BuiltKernel) error {
	var adopted []cache.Decision
	var gone []string
	for _, b := range list {
		d, text := p.Recipe(ctx, b)
		fmt.Fprintf(console, "%s (%s): %s\n", policy.ShortName(b.Name), b.Assembly.Target, text)
		if d != nil {
			adopted = append(adopted, *d)
		} else {
			gone = append(gone, b.Identity)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err := p.decisions.Change(func(owner *cache.Owner) error {
		for _, d := range adopted {
			if err := owner.Put(cache.Predictions, d.Identity, d); err != nil {
				return err
			}
		}
		return owner.Delete(cache.Predictions, gone...)
	})
	if err == nil && len(adopted) > 0 {
		fmt.Fprintln(console,
			"these were not measured: builds with GNVCC_PREDICT=1 use them until gnvcc tune has measured the kernel")
	}
	return err
}
