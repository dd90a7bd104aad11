package tuner

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/confirm"
	"gnvcc/policy/decide"
	"gnvcc/profile"
)

// What the program says of recipes (package confirm): each run of it is noted, and one with recipes
// compared with an earlier one of nvcc's own code.

// confirmable is how long a program may take that is run once more without being asked for.
const confirmable = time.Minute

// builtKernel is what is known of a launched kernel's build; one that gnvcc did not build is known by its module.
func (r *run) builtKernel(cubin, name string) (k confirm.Kernel, entry bool) {
	built, entry, ok := r.compiler.BuiltAs(cubin, name)
	k = confirm.Kernel{Identity: built.Identity, Short: policy.ShortName(built.Name), Recipe: built.Recipe}
	if !ok {
		k.Identity, k.Recipe = cubin+" "+name, ""
	}
	return k, entry
}

// compare notes what a run took, by models of GPU, and enters what it says of the recipes in it.
func (r *run) compare(run Observed) {
	runs := map[string]*confirm.Run{}
	for _, s := range run.Seen {
		k, entry := r.builtKernel(s.Launch.Cubin, s.Launch.Kernel)
		on := s.Launch.Model()
		if runs[on] == nil {
			runs[on] = &confirm.Run{Device: on, Driver: r.Options.Driver, Time: time.Now(),
				Span: max(run.Times.End-run.Times.Launch-run.Cost.Held, 0).Seconds()}
		}
		u := s.Use
		runs[on].Add(k, confirm.Shape{Grid: s.Launch.Grid, Block: s.Launch.Block, Entry: entry, Count: u.Count,
			Sampled: u.Sampled, Seconds: u.Seconds, Spread: confirm.Spread(u.Classes)})
	}
	memory := Memos{r.Store}
	for _, on := range slices.Sorted(maps.Keys(runs)) {
		now := runs[on]
		list, decisions := r.proposals(now)
		before := confirm.Remembered(memory, run.Program)
		if len(list) > 0 {
			c := confirm.Judge(confirm.Base(before, now, list), now, list, r.Options.Rule)
			for _, v := range c.Verdicts {
				if err := r.enter(decisions[v.Identity], v); err != nil {
					r.note("%v", err)
				}
			}
			r.compared = append(r.compared, c)
		}
		if err := confirm.Remember(memory, run.Program, *now); err != nil {
			r.note("can't keep what the run took: %v", err)
		}
	}
}

// proposals are the recipes that a run was built with, and those that it should have been where it
// was run for them.
func (r *run) proposals(now *confirm.Run) (list []confirm.Proposal,
	decisions map[string]*cache.Decision) {
	decisions = map[string]*cache.Decision{}
	for _, k := range now.Kernels {
		d := r.decisions.Past(&policy.Kernel{Identity: k.Identity}, now.Device)
		if d == nil || d.Recipe == "" || d.Pinned || d.Predicted || len(d.Evidence.Launches) == 0 ||
			k.Recipe != d.Recipe && !r.Confirm {
			continue
		}
		p := confirm.Proposal{Identity: k.Identity, Short: k.Short, Recipe: d.Recipe,
			Promised: 1 / d.Evidence.Ratio()}
		if was := d.Evidence.Program; was != nil && was.Recipe == d.Recipe {
			p.Promised = was.Promised
		}
		launches := 0
		for _, l := range d.Evidence.Launches {
			launches += l.Count
			p.Replay += float64(l.Count) * l.Before.Median / 1e9
		}
		p.Replay /= float64(max(launches, 1))
		decisions[k.Identity] = d
		list = append(list, p)
	}
	return list, decisions
}

// enter keeps what the program said of a recipe. One that is taken back is not found again.
func (r *run) enter(d *cache.Decision, v confirm.Verdict) error {
	if v.State == confirm.Open {
		return nil
	}
	d.Time = time.Now()
	d.Evidence.Program = &cache.InProgram{Recipe: d.Recipe, Promised: v.Promised, Gain: v.Program,
		Before: v.Before, After: v.After, Time: d.Time}
	if v.State == confirm.TakenBack {
		d.Evidence.Program.TakenBack = v.Why
		if err := decide.TakeBack(Memos{r.Store}, d, r.Options.Leave(), v.Why); err != nil {
			return err
		}
	}
	return r.decisions.Decide(*d)
}

// confirmed runs the program for that alone: nothing is captured.
func (r *run) confirmed(quiet bool) (profile.Exit, error) {
	captures, err := Captures(r.Store)
	if err != nil {
		return profile.Exit{}, err
	}
	o := Observation{Program: r.program, Captures: captures, Context: r.Signals.Rest(),
		Wanted: func(*profile.Launch) error { return errors.New("the program is run to compare recipes") }}
	if !quiet {
		o.Context, o.For = nil, r.Observe
	}
	o.Program.Quiet = quiet
	run, err := o.Observe()
	if err == nil {
		r.compare(run)
	}
	return run.Exit, err
}

// once runs the program once more where it has recipes that nobody has compared, it takes little
// time, and doing so can harm nobody: what it prints is dropped, what it reads is not there.
func (r *run) once(took time.Duration, exit profile.Exit, built []cache.Decision) error {
	proposed := slices.ContainsFunc(built, func(d cache.Decision) bool { return d.Proposed() })
	if !r.Apply || len(r.Program) == 0 || !proposed || r.Signals.Asked() != 0 {
		return nil
	}
	if why := cmp.Or(tooLong(took), failed(exit), reads()); why != "" {
		r.note("the recipes are proposed until gnvcc tune --confirm -- PROGRAM has compared them in the program: %s", why)
		return nil
	}
	r.note("the program is run once more (it took %.2g s), to compare it with its recipes; what it prints is dropped", took.Seconds())
	before := len(r.compared)
	again, err := r.confirmed(true)
	if err != nil {
		return fmt.Errorf("run the program once more: %w", err)
	}
	if again.Code != exit.Code {
		r.note("run once more, it ended with exit code %d, not %d: look at that", again.Code, exit.Code)
	}
	if err := r.decisions.Publish(); err != nil {
		return err
	}
	if r.Compared != nil {
		r.Compared(r.compared[before:])
	}
	for _, c := range r.compared[before:] {
		if slices.ContainsFunc(c.Verdicts, func(v confirm.Verdict) bool { return v.State == confirm.TakenBack }) {
			return r.build()
		}
	}
	return nil
}

func tooLong(took time.Duration) string {
	if took >= confirmable {
		return fmt.Sprintf("it takes %.0f s", took.Seconds())
	}
	return ""
}

func failed(exit profile.Exit) string {
	if exit.Code != 0 {
		return fmt.Sprintf("it ended with exit code %d", exit.Code)
	}
	return ""
}

// reads says that the program may have read what can't be read twice.
func reads() string {
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice == 0 {
		return "it may read its standard input"
	}
	return ""
}
