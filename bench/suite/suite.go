// The order of things: all builds in parallel, then the GPU one by one, while finished tunings are
// rebuilt beside it.

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gnvcc/bench/jsonl"
	"gnvcc/bench/machine"
)

type suite struct {
	nvcc, gnvcc    string
	compilers      []string // make variables
	variables      []string // NAME=VALUE
	target         string
	tuneFlags      []string
	rebuild        string
	source, folder string
	names          []string
	work, results  string
	clock          string
	parallel, runs int
	pairs          int // of runs without and with observing, of each program, if time is left
	retry, builds  bool
	onlyAgain      bool
	others         map[string]string // commands with other arguments
	replay         []string          // arguments of gnvcc replay
	budget         time.Duration
	threshold      time.Duration
	limits         struct{ build, tune, run time.Duration }
	machine        machine.Facts
	say            func(format string, args ...any)
}

func (s *suite) run(ctx context.Context) error {
	end := time.Now().Add(s.budget)
	// What is ready is still clocked in the last tenth, or in the last seconds.
	lastTune := end.Add(-min(s.budget/10, 25*time.Second))
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()

	done, err := readResults(s.results)
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, r := range done {
		have[r.Program] = r.Failed == "" || !s.retry
	}
	var todo []*job
	for _, name := range s.names {
		if !have[name] {
			todo = append(todo, s.newJob(name))
		}
	}
	s.say("%d programs, %d of them with results in %s", len(s.names), len(s.names)-len(todo),
		s.results)

	// keep writes a result down, unless the program was only cut short by the end of the time.
	unfinished := 0
	var measured []*job
	keep := func(j *job, err error) error {
		if err != nil && ctx.Err() != nil {
			unfinished++
			return nil
		}
		if err != nil {
			j.result.Failed = err.Error()
			s.say("%-24s %s", j.name, j.result.Failed)
		} else {
			s.say("%-24s %s", j.name, j.result.short())
			measured = append(measured, j)
		}
		return jsonl.Append(s.results, j.result)
	}

	if s.onlyAgain {
		for _, j := range todo {
			if err := keep(j, j.again(ctx)); err != nil {
				return err
			}
		}
		return s.told(ctx, unfinished)
	}

	// 1. Build everything twice.
	slots := make(chan struct{}, s.parallel)
	s.buildAll(ctx, todo, slots)
	var built []*job
	for _, j := range todo {
		if j.err == nil {
			built = append(built, j)
		} else if err := keep(j, j.err); err != nil {
			return err
		}
	}

	// 2. The GPU, one by one: tune; and clock what has been rebuilt meanwhile.
	late, err := s.tuneAll(ctx, built, slots, lastTune, keep)
	if err != nil {
		return err
	}

	// 3. What is left of the time.
	if err := s.pairAll(ctx, measured); err != nil {
		return err
	}
	return s.told(ctx, unfinished+late)
}

// tuneAll tunes programs one by one and clocks them as soon as they are built again. late counts
// those for which no time was left.
func (s *suite) tuneAll(ctx context.Context, built []*job, slots chan struct{}, lastTune time.Time,
	keep func(j *job, err error) error) (late int, err error) {
	ready := make(chan *job, len(built))
	rebuilding := 0
	finish := func(j *job) error {
		rebuilding--
		if j.err == nil {
			j.err = j.measure(ctx)
		}
		if j.err == nil && s.builds && j.result.Adopted > 0 {
			if err := j.builds(ctx); err != nil {
				s.say("%-24s clean builds: %v", j.name, err) // the rest stands
			}
		}
		return keep(j, j.err)
	}
	for _, j := range built {
		if ctx.Err() != nil || time.Now().After(lastTune) {
			late++
			continue
		}
		if err := j.tune(ctx); err != nil {
			if err := keep(j, err); err != nil {
				return late, err
			}
			continue
		}
		rebuilding++
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			j.err = j.apply(ctx)
			ready <- j
		}()
		for more := true; more; {
			select {
			case r := <-ready:
				if err := finish(r); err != nil {
					return late, err
				}
			default:
				more = false
			}
		}
	}
	for rebuilding > 0 {
		if err := finish(<-ready); err != nil {
			return late, err
		}
	}
	return late, nil
}

// told says how much is left.
func (s *suite) told(ctx context.Context, unfinished int) error {
	if unfinished > 0 {
		s.say("%d programs were not finished within %v; run again to go on", unfinished, s.budget)
	}
	if err := context.Cause(ctx); err == context.Canceled {
		return fmt.Errorf("interrupted; the results so far are in %s", s.results)
	}
	return nil
}

// buildAll builds the programs, in parallel; each job has its error.
func (s *suite) buildAll(ctx context.Context, todo []*job, slots chan struct{}) {
	start := time.Now()
	var all sync.WaitGroup
	for _, j := range todo {
		all.Add(1)
		go func() {
			defer all.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			j.err = j.build(ctx)
		}()
	}
	all.Wait()
	built := 0
	for _, j := range todo {
		if j.err == nil {
			built++
		}
	}
	s.say("built %d of %d programs with nvcc and with gnvcc in %.0f s", built, len(todo),
		time.Since(start).Seconds())
}
