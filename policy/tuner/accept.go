package tuner

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/rewrite"
)

// What the user's own command accepts (--within app:COMMAND): the quality of the application, in which
// errors grow or vanish (Li et al., ICS 2016, 6.4), in place of a bound on each launch. Its exit code
// decides.

// An acceptance asks the command about decisions with other results.
type acceptance struct {
	keep    func(d cache.Decision) error // a decision, for the next build
	refuse  func(d cache.Decision) error // a decision that was not accepted
	build   func() error
	accepts func() (bool, error)
}

// run keeps what is accepted of some decisions, those that save most first: all of them, or one after
// the other, each with those that were accepted before.
func (a *acceptance) run(list []cache.Decision) error {
	built := func(change ...cache.Decision) (bool, error) {
		for _, d := range change {
			if err := a.keep(d); err != nil {
				return false, err
			}
		}
		if err := a.build(); err != nil {
			return false, err
		}
		return a.accepts()
	}
	ok, err := built()
	if ok || err != nil || len(list) == 0 {
		return err
	}
	var none []cache.Decision
	for _, d := range list {
		none = append(none, exactly(d))
	}
	if ok, err = built(none...); err == nil && !ok {
		err = errors.New("the command of --within app: does not accept the program without approximation either: nothing is approximated")
	}
	if err != nil {
		return err
	}
	var refused []cache.Decision
	for i, d := range list {
		ok := false
		if len(list) > 1 { // one alone was refused already
			if ok, err = built(d); err != nil {
				return errors.Join(err, a.keep(none[i]))
			}
		}
		if !ok {
			refused = append(refused, d)
			if err := a.keep(none[i]); err != nil {
				return err
			}
		}
	}
	for _, d := range refused {
		if err := a.refuse(d); err != nil {
			return err
		}
	}
	return a.build()
}

// exactly is a decision for nvcc's own code in place of a recipe.
func exactly(d cache.Decision) cache.Decision {
	d.Recipe, d.Exactness = "", rewrite.ByConstruction.String()
	d.Evidence.Chosen, d.Evidence.Normals = d.Evidence.Default, nil
	return d
}

// accept builds with what was found, and asks the user's command where there is one.
func (r *run) accept(results []decide.Result) error {
	command := r.Options.Within.App
	if command == "" || !r.Apply {
		return r.build()
	}
	var list []cache.Decision
	for _, x := range results {
		if d := x.Decision; d != nil && d.Recipe != "" && d.Approximate() {
			list = append(list, *d)
		}
	}
	saves := func(d cache.Decision) float64 { b, a := d.Evidence.Whole(); return b - a }
	slices.SortStableFunc(list, func(a, b cache.Decision) int { return cmp.Compare(saves(b), saves(a)) })
	decided := func(d cache.Decision) error {
		d.Time = time.Now() // the last word counts
		if err := r.decisions.Decide(d); err != nil {
			return err
		}
		return r.decisions.Publish()
	}
	a := acceptance{keep: decided, build: r.build,
		refuse: func(d cache.Decision) error {
			why := fmt.Sprintf("%s did not accept it", command)
			r.note("%s: %s", policy.ShortName(d.Kernel), why)
			if err := decide.TakeBack(Memos{r.Store}, &d, r.Options.Leave(), why); err != nil {
				return err
			}
			return decided(d)
		},
		accepts: func() (bool, error) {
			c := exec.CommandContext(r.Signals.Rest(), "sh", "-c", command)
			c.Stdout, c.Stderr = r.Stderr, r.Stderr
			err := c.Run()
			var exit *exec.ExitError
			if errors.As(err, &exit) && r.Signals.Rest().Err() == nil {
				return false, nil
			}
			return err == nil, err
		}}
	return a.run(list)
}
