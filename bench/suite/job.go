// The steps of one program.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gnvcc/bench/lab"
)

// A job is one program on its way. Its two builds lie in trees of their own, so that make never
// mixes them.
type job struct {
	s      *suite
	name   string
	err    error
	result Result
	claim  *os.File // the lock that keeps the program ours
}

func (s *suite) newJob(name string) *job {
	return &job{s: s, name: name, result: Result{Program: name, Machine: s.machine, Runs: s.runs}}
}

// dir is the program's folder in one of the trees: "before" (nvcc) or "after" (gnvcc).
func (j *job) dir(tree string) string {
	return filepath.Join(j.s.work, tree, j.name, filepath.Base(j.s.source),
		strings.ReplaceAll(j.s.folder, "%", j.name))
}

func (j *job) store() string { return filepath.Join(j.s.work, "stores", j.name) }

// make gives the command of a target in one of the trees.
func (j *job) make(tree string, targets ...string) lab.Step {
	compiler, env := j.s.nvcc, []string{"GNVCC_OFF=1"}
	if tree == "after" {
		compiler, env = j.s.gnvcc, []string{"GNVCC_NVCC=" + j.s.nvcc, "GNVCC_STORE=" + j.store()}
	}
	argv := []string{"make", "-s", "--no-print-directory"}
	for _, v := range j.s.compilers {
		argv = append(argv, v+"="+compiler)
	}
	argv = append(append(argv, j.s.variables...), targets...)
	return lab.Step{Argv: argv, Dir: j.dir(tree), Env: env}
}

// do runs a step under a limit, and keeps what it printed in work/logs.
func (j *job) do(ctx context.Context, what string, s lab.Step,
	limit time.Duration) (lab.Ran, error) {
	return s.Logged(ctx, filepath.Join(j.s.work, "logs"), j.name, what, limit)
}

// aside is a step that leaves the processors to whatever uses the GPU.
func (j *job) aside(s lab.Step) lab.Step {
	s.Argv = append([]string{"nice", "-n", "19"}, s.Argv...)
	return s
}

func (j *job) build(ctx context.Context) error {
	for _, tree := range []string{"before", "after"} {
		if err := lab.CopyProgram(j.s.source, filepath.Base(j.dir(tree)), filepath.Join(j.s.work, tree,
			j.name)); err != nil {
			return fmt.Errorf("copy: %w", err)
		}
		// What stands there built, by whatever compiler, must not pass for ours. Not every Makefile has a
		// clean.
		_, _ = j.do(ctx, "clean "+tree, j.make(tree, "clean"), j.s.limits.build)
	}
	if err := os.RemoveAll(j.store()); err != nil {
		return err
	}
	r, err := j.do(ctx, "build with nvcc", j.aside(j.make("before")), j.s.limits.build)
	if err != nil {
		return err
	}
	j.result.BuildNvcc = r.Wall.Seconds()
	if r, err = j.do(ctx, "build with gnvcc", j.aside(j.make("after")), j.s.limits.build); err != nil {
		return err
	}
	j.result.BuildGnvcc = r.Wall.Seconds()
	// Each program has a store of its own. What gnvcc tune builds in it once, before it runs anything
	// (its agent, its replayer: some seconds of the host compiler's), a user has from the first
	// program on. No launch is captured: it fails, and that is all right.
	first := j.make("after")
	first.Argv = []string{j.s.gnvcc, "tune"}
	_, _ = j.do(ctx, "first tune", j.aside(first), j.s.limits.build)
	return nil
}

// tune runs the program once under gnvcc tune, which follows make to the programs that it starts. Without --apply it
// runs no program once more to confirm recipes: the time is that of the search, and claims are those of replays.
func (j *job) tune(ctx context.Context) error {
	run := j.make("after", j.s.target)
	words := append([]string{j.s.gnvcc, "tune"}, append(append([]string(nil), j.s.tuneFlags...),
		"--")...)
	run.Argv = append(words, run.Argv...)
	run.Env = append(run.Env, "GNVCC_LOG="+j.log())
	if err := os.RemoveAll(j.log()); err != nil {
		return err
	}
	if j.s.alone > 0 {
		if err := j.plain(ctx, "plain 1"); err != nil {
			return err
		}
	}
	r, err := j.do(ctx, "tune", run, j.s.limits.tune)
	j.result.Tune = r.Wall.Seconds()
	if err := errors.Join(err, j.result.observed(j.log())); err != nil {
		return err
	}
	if j.s.alone < 2 {
		return nil
	}
	return j.plain(ctx, "plain 2")
}

func (j *job) apply(ctx context.Context) error {
	apply := j.make("after")
	apply.Argv = []string{j.s.gnvcc, "apply", "--all"}
	for i, s := range []lab.Step{apply, j.make("after")} {
		r, err := j.do(ctx, fmt.Sprintf("rebuild %d", i+1), j.aside(s), j.s.limits.build)
		if err != nil {
			return err
		}
		j.result.Rebuild += r.Wall.Seconds()
	}
	if err := j.result.count(j.store()); err != nil {
		return fmt.Errorf("read the store: %w", err)
	}
	return nil
}

// measure runs both builds in turn under the clock.
func (j *job) measure(ctx context.Context) error {
	t, err := j.turns(ctx, "run", func(tree string) lab.Step { return j.make(tree, j.s.target) })
	if err != nil {
		return err
	}
	j.result.Stdout = t.stdout
	j.result.times(t.before, t.after)
	j.result.claims()
	if j.s.figures != "" {
		return j.own(ctx)
	}
	return nil
}

// turns are runs of both builds.
type turns struct {
	before, after []lab.Reading
	stdout        string // as compare has it
}

// clocked is a run under the clock. One that does not bear that its kernels are kept apart is run
// as the others.
func (j *job) clocked(ctx context.Context, what, file string, apart bool,
	s lab.Step) (r lab.Ran, reading lab.Reading, err error) {
	reading, err = lab.UnderClock(j.s.clock, file, apart, func(env []string) (err error) {
		one := s
		one.Env = append(slices.Clone(s.Env), env...)
		r, err = j.do(ctx, what, one, j.s.limits.run)
		return err
	})
	if err != nil && apart && ctx.Err() == nil {
		return j.clocked(ctx, what, file, false, s)
	}
	return r, reading, err
}

// turns runs both in turn, every second time with kernels kept apart: each way of the clock's
// lengthens kernels in its own way, so that the less of both is nearer to the truth.
func (j *job) turns(ctx context.Context, what string, run func(tree string) lab.Step) (turns,
	error) {
	trees := []string{"before", "after"}
	outputs := map[string][]string{}
	readings := map[string][]lab.Reading{}
	for i := range j.s.runs {
		for n := range trees {
			tree := trees[(n+i)&1] // who goes first changes
			file := filepath.Join(j.s.work, "times", fmt.Sprintf("%s.%s.%s.%d.csv", j.name, what, tree, i))
			r, reading, err := j.clocked(ctx, fmt.Sprintf("%s %s %d", what, tree, i), file, i&1 == 1,
				run(tree))
			if err != nil {
				return turns{}, err
			}
			readings[tree] = append(readings[tree], reading)
			// The trees' and compilers' paths may be printed.
			outputs[tree] = append(outputs[tree], strings.NewReplacer(j.dir(tree), "<folder>", j.s.nvcc,
				"<compiler>", j.s.gnvcc, "<compiler>").Replace(r.Stdout))
		}
	}
	return turns{readings["before"], readings["after"], compare(outputs["before"],
		outputs["after"])}, nil
}

// again runs both builds of a program that was tuned and measured before with other arguments.
func (j *job) again(ctx context.Context) error {
	for _, dir := range []string{j.dir("before"), j.dir("after"), j.store()} {
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("it was not built and tuned before: %w", err)
		}
	}
	if command := j.s.others[j.name]; command != "" {
		o := &Other{Command: command}
		t, err := j.turns(ctx, "other", func(tree string) lab.Step {
			return lab.Step{Argv: []string{"sh", "-c", command}, Dir: j.dir(tree)}
		})
		if err != nil {
			o.Failed = err.Error()
		}
		for i := range t.before {
			o.Before, o.After = append(o.Before, t.before[i].Total()), append(o.After, t.after[i].Total())
		}
		o.Stdout = t.stdout
		j.result.Other = o
	}
	return nil
}
