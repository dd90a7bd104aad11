package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/policy"
	"gnvcc/policy/page"
	"gnvcc/policy/tuner"
)

// predictVerb ranks builds of kernels from their machine code, without a GPU.
func predictVerb() *cobra.Command {
	c := newVerb("predict [--adopt] [KERNEL]",
		"what limits kernels, and which register caps to measure first; needs no GPU",
		"What limits the kernels that were built, and which register caps are worth a measurement, read from their machine\n"+
			"code. Nothing is run: gnvcc tune measures. KERNEL is a part of the name, or a regular expression.", arguments(0, 1))
	adopt := c.Flags().Bool("adopt", false,
		"keep what is foretold to be fastest of each kernel that nothing was decided for: only builds with GNVCC_PREDICT=1 take it, and no build once the kernel was measured")
	return tries(c, 2, func(args []string) error { return predict(strings.Join(args, ""), *adopt) })
}

func predict(kernel string, adopt bool) error {
	name, err := regexp.Compile(kernel)
	if err != nil {
		return err
	}
	ctx, stop := ended(context.Background())
	defer stop()
	look := foretold
	if adopt {
		look = adoptForetold
	}
	n, err := look(ctx, name)
	if err == nil && n == 0 {
		fmt.Fprintln(told, "no such kernel is known yet: build a program with gnvcc")
	}
	return err
}

// A prediction is what the verbs that predict need.
type prediction struct {
	*tuner.Predictor
	decisions *tuner.Decisions
}

func newPrediction(ctx context.Context) (*prediction, error) {
	decisions, err := openDecisions(ctx)
	if err != nil {
		return nil, err
	}
	all, _, err := decided()
	if err != nil {
		return nil, err
	}
	p, err := tuner.NewPredictor(decisions.Store(), all, ownVersion())
	return &prediction{p, decisions}, err
}

// each calls fn for every kernel of a name that was built, once, and says how many there are.
func (p *prediction) each(name *regexp.Regexp, fn func(n int, b record.BuiltKernel)) (n int) {
	for _, b := range record.Built(p.decisions.Store()) {
		if name.MatchString(b.Name) || name.MatchString(policy.ShortName(b.Name)) {
			n++
			fn(n, b)
		}
	}
	return n
}

// foretold prints what can be foretold of the kernels of a name, and says how many there are.
func foretold(ctx context.Context, name *regexp.Regexp) (n int, err error) {
	p, err := newPrediction(ctx)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	return p.each(name, func(n int, b record.BuiltKernel) {
		if n > 1 {
			fmt.Fprintln(told)
		}
		seen, err := p.Predict(ctx, b)
		if err == nil {
			err = seen.Print(stdout())
		}
		if err != nil {
			fmt.Fprintf(told, "%s (%s): nothing can be foretold: %v\n", policy.ShortName(b.Name), b.Assembly.Target,
				err)
		}
	}), nil
}

// explainPage writes a page with what was decided of kernels, those of the name that were built and
// not yet tuned, and what can be foretold of all of them; it says how many there are. Without any
// it writes nothing.
func explainPage(path string, name *regexp.Regexp, in page.Input) (n int, err error) {
	ctx, stop := ended(context.Background())
	defer stop()
	p, err := newPrediction(ctx)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	seen := map[string]*page.Foretold{}
	decided := map[string]bool{}
	for _, d := range in.Decisions {
		decided[d.Identity] = true
	}
	p.each(name, func(_ int, b record.BuiltKernel) {
		k, err := p.Predict(ctx, b)
		seen[b.Identity] = &page.Foretold{Kernel: k, Err: err}
		if !decided[b.Identity] {
			in.Undecided = append(in.Undecided, cache.Decision{Identity: b.Identity, Kernel: b.Name,
				Target: b.Assembly.Target,
				Evidence: cache.Evidence{Default: cache.Build{Registers: b.Registers, Spill: b.Spill,
					Stack: b.Stack, Shared: b.Shared, Barriers: b.Barriers}}})
		}
	})
	if n = len(in.Decisions) + len(in.Undecided); n == 0 || ctx.Err() != nil {
		return n, ctx.Err()
	}
	in.Foretold = func(d cache.Decision) *page.Foretold { return seen[d.Identity] }
	return n, writePage(path, in)
}

// adoptForetold keeps, for each kernel of a name that nothing was decided for, the recipe that is
// foretold to be fastest. What was foretold of it before is replaced, or taken back.
func adoptForetold(ctx context.Context, name *regexp.Regexp) (n int, err error) {
	p, err := newPrediction(ctx)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	var adopted []cache.Decision
	var gone []string
	n = p.each(name, func(_ int, b record.BuiltKernel) {
		d, text := p.Recipe(ctx, b)
		fmt.Fprintf(told, "%s (%s): %s\n", policy.ShortName(b.Name), b.Assembly.Target, text)
		if d != nil {
			adopted = append(adopted, *d)
		} else {
			gone = append(gone, b.Identity)
		}
	})
	if n == 0 || ctx.Err() != nil {
		return n, ctx.Err()
	}
	err = p.decisions.Change(func(owner *cache.Owner) error {
		for _, d := range adopted {
			if err := owner.Put(cache.Predictions, d.Identity, d); err != nil {
				return err
			}
		}
		return owner.Delete(cache.Predictions, gone...)
	})
	if err == nil && len(adopted) > 0 {
		fmt.Fprintln(told,
			"nobody has run these: builds with GNVCC_PREDICT=1 take them, until gnvcc tune has measured the kernel")
	}
	return n, err
}
