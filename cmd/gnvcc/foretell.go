package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/policy"
	"gnvcc/policy/foretell"
	"gnvcc/policy/page"
	"gnvcc/profile/units"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
	predictor "gnvcc/sim/predict"
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

// A fortune is a store as those look at it who foretell.
type fortune struct {
	book    *book
	c       *compiler
	decided map[string]*cache.Decision // by identity; a pinned one before a measured one
	machine *units.Machine
}

func newFortune(ctx context.Context) (*fortune, error) {
	book, err := newBook(ctx)
	if err != nil {
		return nil, err
	}
	all, _, err := decided()
	if err != nil {
		return nil, err
	}
	f := &fortune{book: book, decided: map[string]*cache.Decision{}, machine: machineOf(book.store)}
	for i := range all {
		f.decided[all[i].Identity] = &all[i]
	}
	f.c, err = newCompiler(book.store)
	return f, err
}

// each calls fn for every kernel of a name that was built, once, and says how many there are.
func (f *fortune) each(name *regexp.Regexp, fn func(n int, b record.BuiltKernel)) (n int) {
	for _, b := range record.Built(f.book.store) {
		if name.MatchString(b.Name) || name.MatchString(policy.ShortName(b.Name)) {
			n++
			fn(n, b)
		}
	}
	return n
}

// look foretells one kernel.
func (f *fortune) look(ctx context.Context, b record.BuiltKernel) (*foretell.Kernel, error) {
	known, err := f.c.Kernel(b.Assembly.Cubin, b.Name)
	if err != nil {
		return nil, err
	}
	if why := cmp.Or(known.Alone, known.HintsAlone); why != "" { // register caps are foretold
		return nil, errors.New(why)
	}
	return foretell.Look(ctx, f.c, known, f.decided[b.Identity], f.machine)
}

// foretold prints what can be foretold of the kernels of a name, and says how many there are.
func foretold(ctx context.Context, name *regexp.Regexp) (n int, err error) {
	f, err := newFortune(ctx)
	if err != nil {
		return 0, err
	}
	defer f.c.Close()
	return f.each(name, func(n int, b record.BuiltKernel) {
		if n > 1 {
			fmt.Fprintln(told)
		}
		seen, err := f.look(ctx, b)
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
	f, err := newFortune(ctx)
	if err != nil {
		return 0, err
	}
	defer f.c.Close()
	seen := map[string]*page.Foretold{}
	decided := map[string]bool{}
	for _, d := range in.Decisions {
		decided[d.Identity] = true
	}
	f.each(name, func(_ int, b record.BuiltKernel) {
		k, err := f.look(ctx, b)
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
	f, err := newFortune(ctx)
	if err != nil {
		return 0, err
	}
	defer f.c.Close()
	var adopted []cache.Decision
	var gone []string
	n = f.each(name, func(_ int, b record.BuiltKernel) {
		d, text := f.adopt(ctx, b)
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
	err = f.book.change(func(owner *cache.Owner) error {
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

// adopt gives the decision for what is foretold to be fastest, nil where nothing is to be kept; the
// text says which, and why.
func (f *fortune) adopt(ctx context.Context, b record.BuiltKernel) (*cache.Decision, string) {
	if d := f.decided[b.Identity]; d != nil && !d.Predicted {
		if d.Pinned {
			return nil, "pinned by you, which stays"
		}
		return nil, "was measured, or left alone by gnvcc tune, which stays"
	}
	seen, err := f.look(ctx, b)
	if err != nil {
		return nil, "nothing can be foretold: " + err.Error()
	}
	best, ok := seen.Best()
	if !ok {
		return nil, fmt.Sprintf(
			"no register cap with nvcc's own floating-point instructions is foretold to gain %.0f %% and more", 100*predictor.Margin)
	}
	r, err := recipe.Parse(best.Recipe)
	if err == nil && rewrite.ExactnessOf(r) != rewrite.ByConstruction {
		err = fmt.Errorf("%s is not exact by construction", r)
	}
	var d cache.Decision
	if err == nil {
		d, err = rehearse(ctx, f.c, b, r)
	}
	if err != nil {
		return nil, fmt.Sprintf(
			"%s is foretold to take %.2f of the time, but a build would not take it: %v", best.Recipe,
			best.Time, err)
	}
	d.Pinned, d.Predicted = false, true
	d.Evidence.Note = fmt.Sprintf("predicted, not measured: %.2f of the time; rates: %s", best.By(),
		seen.Picture.Units.Source)
	if a := seen.Picture.Assumed; len(a) > 0 {
		d.Evidence.Note += "; assumed: " + strings.Join(a, ", ")
	}
	return &d, fmt.Sprintf("%s, foretold to take %.2f of the time; %d registers, nvcc's own has %d",
		d.Recipe, best.By(),
		d.Evidence.Chosen.Registers, d.Evidence.Default.Registers)
}

// machineKey finds what doctor -measure found out about this machine's GPU. What version 1 measured
// of memory and integers was wrong.
const machineKey = "machine 2"

// machineOf is what was measured last, nil where nothing was.
func machineOf(store *cache.Store) *units.Machine {
	text, ok := memos{store}.Recall(machineKey)
	if !ok {
		return nil
	}
	var m units.Machine
	if json.Unmarshal(text, &m) != nil {
		return nil
	}
	return &m
}

// keepMachine keeps what was measured, for predictions.
func keepMachine(m *units.Machine) error {
	store, err := openStore()
	if err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return memos{store}.Remember(machineKey, text)
}
