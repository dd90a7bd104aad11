package main

import (
	"context"
	"fmt"
	"time"

	"gnvcc/bench/lab"
)

type suite struct {
	nvcc, gnvcc    string
	compilers      []string // make variables
	variables      []string // NAME=VALUE
	target         string
	figures        string // the make target that prints an application's own figures; "": none
	tuneFlags      []string
	source, folder string
	names          []string
	work, results  string
	clock          string
	parallel, runs int
	alone          int // runs of nvcc's build besides the one under tune
	retry          bool
	onlyAgain      bool
	gpuLock        string            // file whose lock is the right to use the GPU
	claims         string            // folder with a lock for each program
	ahead          int               // programs that are being built during the one on the GPU
	expected       map[string]brief  // what earlier results say
	others         map[string]string // commands with other arguments
	budget         time.Duration
	threshold      time.Duration
	limits         struct{ build, tune, run time.Duration }
	machine        lab.Machine
	say            func(format string, args ...any)
}

func (s *suite) run(ctx context.Context) error {
	end := time.Now().Add(s.budget)
	// What is ready is still clocked in the last tenth, or in the last seconds.
	lastTune := end.Add(-min(s.budget/10, 25*time.Second))
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()

	todo, err := s.newQueue()
	if err != nil {
		return err
	}
	s.say("%d programs, %d of them with results in %s", len(s.names), len(todo.had), s.results)

	// keep writes a result down, unless the program was only cut short by the end of the time.
	keep := func(j *job, err error) error {
		defer j.free()
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			j.result.Failed = err.Error()
			s.say("%-24s %s", j.name, j.result.Failed)
		} else {
			s.say("%-24s %s", j.name, j.result.short())
		}
		return lab.AppendLine(s.results, j.result)
	}

	if s.onlyAgain {
		for {
			j, err := todo.next(time.Until(end))
			if err != nil {
				return err
			}
			if j == nil {
				return s.told(ctx, todo)
			}
			if err := keep(j, j.alone(ctx, func() error { return j.again(ctx) })); err != nil {
				return err
			}
		}
	}

	// Programs are built while others use the GPU: to be tuned, and clocked once they are built again.
	t := tuning{s: s, keep: keep, lastTune: lastTune, slots: make(chan struct{}, s.parallel),
		ready: make(chan *job, len(s.names))}
	if err := t.all(ctx, todo); err != nil {
		return err
	}

	return s.told(ctx, todo)
}

// told says how much is left.
func (s *suite) told(ctx context.Context, todo *queue) error {
	left, err := todo.left()
	if err != nil {
		return err
	}
	if left > 0 {
		s.say("%d programs were not finished within %v; run again to go on", left, s.budget)
	}
	if err := context.Cause(ctx); err == context.Canceled {
		return fmt.Errorf("interrupted; the results so far are in %s", s.results)
	}
	return nil
}
