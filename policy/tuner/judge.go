package tuner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/driver/scratch"
	"gnvcc/policy"
	"gnvcc/policy/decide"
)

// Approximation that a command of the user's allows: gnvcc tune --exact=approximate --judge COMMAND.
//
// The tuning run decides on recipes that give the same bits, and measures some that don't (package
// policy). Then the program is built with the former, as gnvcc apply does, and run twice: its
// output is the reference, and the judge must accept the second run beside the first, twice alike.
// After that the program is built with approximations, run, and judged, until the fastest that the
// judge accepts are found (policy.Choose). What is not accepted is taken back: when tune ends, in
// whatever way, the store and the program have what was accepted last.
//
// The judge is run as COMMAND REFERENCE OUTPUT, two files with what the program printed;
// they are in GNVCC_REFERENCE and GNVCC_OUTPUT, too. Exit code 0 accepts. With --within E it must
// print a number in its last line, which is compared with E.

// A judge runs the user's --judge command on what the program printed.
type judge struct {
	command string
	build   string       // run after each apply, to link; "": nothing
	bound   policy.Bound // zero: the exit code alone
	argv    []string     // the program
	dir     string       // scratch

	apply  func() (int, string, error)    // builds again; the number of commands, and what was said
	decide func(d cache.Decision) error   // keeps a decision
	say    func(text string, args ...any) // for people

	adopted map[string]string // identity -> recipe
	exit    int               // the reference's exit code
	took    time.Duration     // and its time
}

const (
	judgeRuns = 2 // runs of the program for a verdict: the largest error counts
)

// newJudge makes one for a tuning run.
func newJudge(ctx context.Context, r *run) *judge {
	return &judge{command: r.Judge, build: r.Link, bound: r.Options.Within, argv: r.Program,
		decide: r.decisions.Decide,
		apply: func() (int, string, error) {
			var text bytes.Buffer
			// what is taken back when the run is to end has to be built, too
			n, err := apply.Build(context.WithoutCancel(ctx), r.Store, apply.Aim{}, &text)
			return n, text.String(), err
		},
		say: func(text string, args ...any) {
			fmt.Fprintf(r.Stderr, "gnvcc: judge: "+text+"\n", args...)
		},
	}
}

// run finds what the judge accepts, and leaves the program built with it.
func (j *judge) run(ctx context.Context, results []decide.Result) error {
	var open []decide.Result
	for _, r := range results {
		if r.Decision != nil && len(r.Approximate) > 0 {
			open = append(open, r)
		}
	}
	if len(open) == 0 {
		j.say("no approximation gains anything: there is nothing to judge")
		return nil
	}
	sort.SliceStable(open, func(a, b int) bool { return open[a].Saves > open[b].Saves })
	scratch, err := scratch.New()
	if err != nil {
		return fmt.Errorf("make a scratch folder: %w", err)
	}
	defer scratch.Remove()
	j.dir = scratch.Path
	j.adopted = map[string]string{}
	none := make([]int, len(open))
	if err := j.adopt(open, none, true); err != nil {
		return err
	}
	if err := j.check(ctx); err != nil {
		return err
	}
	limit := j.bound.Value
	if j.bound == (policy.Bound{}) {
		limit = 0.5 // yes is 0, no is infinite
	}
	sizes := make([]int, len(open))
	for i, r := range open {
		sizes[i] = len(r.Approximate)
	}
	chosen, err := decide.Choose(sizes, limit, func(selection []int) (float64, error) {
		return j.try(ctx, open, selection)
	})
	if err != nil {
		return errors.Join(err, j.adopt(open, none, false)) // what was not accepted is taken back
	}
	if err := j.adopt(open, chosen, false); err != nil {
		return err
	}
	for i, r := range open {
		if d := j.selected(r, chosen[i]); chosen[i] > 0 {
			j.say("accepted for %s: %s", policy.ShortName(d.Kernel), d.Recipe)
		} else {
			j.say("nothing is approximated in %s", policy.ShortName(d.Kernel))
		}
	}
	return nil
}

// selected is the decision that a number stands for.
func (j *judge) selected(r decide.Result, n int) cache.Decision {
	if n == 0 {
		return *r.Decision
	}
	d := r.Approximate[n-1]
	d.Evidence.Note = strings.TrimPrefix(d.Evidence.Note+"; accepted by the judge: "+j.command, "; ")
	return d
}

// adopt keeps the decisions of a selection and builds with them. first: it is no error if nothing
// had to be built.
func (j *judge) adopt(open []decide.Result, selection []int, first bool) error {
	changed := false
	for i, r := range open {
		d := j.selected(r, selection[i])
		if old, ok := j.adopted[d.Identity]; ok && old == d.Recipe {
			continue
		}
		d.Time = time.Now() // the last word counts
		if err := j.decide(d); err != nil {
			return fmt.Errorf("keep a decision for the judge: %w", err)
		}
		j.adopted[d.Identity] = d.Recipe
		changed = true
	}
	if !changed {
		return nil
	}
	program, _ := os.Stat(j.argv[0])
	n, said, err := j.apply()
	switch {
	case err != nil:
		return fmt.Errorf("build for the judge: %w\n%s", err, strings.TrimSpace(said))
	case n == 0 && !first:
		return fmt.Errorf("nothing could be built again for the judge\n%s", strings.TrimSpace(said))
	}
	if j.build != "" {
		argv := shell(j.build)
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s failed: %w\n%s", j.build, err, bytes.TrimSpace(out))
		}
		return nil
	}
	now, _ := os.Stat(j.argv[0])
	if n > 0 && program != nil && now != nil && program.ModTime().Equal(now.ModTime()) &&
		program.Size() == now.Size() {
		return fmt.Errorf(
			"%s has to be linked again after gnvcc apply: say how with --build 'make' (--build true if a library that it loads is all that is built)", j.argv[0])
	}
	return nil
}

// check makes the reference, and sees whether the judge can be believed.
func (j *judge) check(ctx context.Context) error {
	begun := time.Now()
	var err error
	if j.exit, err = j.output(ctx, "reference"); err != nil {
		return err
	}
	j.took = time.Since(begun)
	if code, err := j.output(ctx, "output"); err != nil || code != j.exit {
		return fmt.Errorf(
			"the program ends with exit code %d and then with %d, without approximation: nothing can be judged (%v)", j.exit, code, err)
	}
	first, err := j.verdict(ctx)
	if err != nil {
		return err
	}
	second, err := j.verdict(ctx)
	if err != nil {
		return err
	}
	switch {
	case first != second:
		return fmt.Errorf(
			"the judge is not deterministic: on the same two files it said %s and then %s; nothing is approximated", j.word(first), j.word(second))
	case !j.accepts(first):
		return fmt.Errorf(
			"the judge does not accept the program's own output, of two runs without approximation (%s); nothing is approximated", j.word(first))
	}
	return nil
}

func (j *judge) accepts(e float64) bool {
	if j.bound == (policy.Bound{}) {
		return e == 0
	}
	return e <= j.bound.Value
}

// word is a verdict for people.
func (j *judge) word(e float64) string {
	switch {
	case math.IsInf(e, 1):
		return "no"
	case j.bound == (policy.Bound{}):
		return "yes"
	}
	return fmt.Sprintf("%g", e)
}

// try builds with a selection, runs the program and asks the judge.
func (j *judge) try(ctx context.Context, open []decide.Result, selection []int) (float64, error) {
	if err := j.adopt(open, selection, false); err != nil {
		return 0, err
	}
	var names []string
	for i, r := range open {
		if selection[i] == 0 {
			continue
		}
		d := j.selected(r, selection[i])
		names = append(names, policy.ShortName(d.Kernel)+": "+d.Recipe)
	}
	worst := 0.0
	for range judgeRuns {
		code, err := j.output(ctx, "output")
		if err != nil || code != j.exit {
			worst = math.Inf(1)
			break
		}
		e, err := j.verdict(ctx)
		if err != nil {
			return 0, err
		}
		if worst = max(worst, e); !j.accepts(worst) {
			break
		}
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	j.say("%s for %s", j.word(worst), strings.Join(names, "; "))
	return worst, nil
}

// output runs the program and keeps what it prints in a file. An error: it could not be run, or did
// not end in time.
func (j *judge) output(ctx context.Context, name string) (int, error) {
	if j.took > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, 10*j.took+10*time.Second)
		defer cancel()
	}
	f, err := os.Create(filepath.Join(j.dir, name))
	if err != nil {
		return 0, fmt.Errorf("keep the program's output: %w", err)
	}
	defer f.Close()
	cmd := exec.CommandContext(ctx, j.argv[0], j.argv[1:]...)
	cmd.Stdout, cmd.Stderr = f, io.Discard
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("run the program for the judge: %w", err)
	}
	return 0, nil
}

// verdict asks the judge about the two files: 0 or its number, infinite for no.
func (j *judge) verdict(ctx context.Context) (float64, error) {
	reference, output := filepath.Join(j.dir, "reference"), filepath.Join(j.dir, "output")
	argv := shell(j.command, reference, output)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "GNVCC_REFERENCE="+reference, "GNVCC_OUTPUT="+output)
	var errText bytes.Buffer
	cmd.Stderr = &errText
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() < 126:
		return math.Inf(1), nil
	case err != nil:
		return 0, fmt.Errorf("can't run the judge %q: %w\n%s", j.command, err,
			bytes.TrimSpace(errText.Bytes()))
	case j.bound == (policy.Bound{}):
		return 0, nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	e, err := strconv.ParseFloat(last, 64)
	if err != nil {
		return 0,
			fmt.Errorf("the judge %q accepts and ends with %q: with --within its last line must be a number",
				j.command, last)
	}
	if math.IsNaN(e) || e < 0 {
		return math.Inf(1), nil
	}
	return e, nil
}
