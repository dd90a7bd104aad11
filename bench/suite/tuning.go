// Builds, and what follows them on the GPU: one goroutine uses it, others build.

package main

import (
	"context"
	"sync"
	"time"
)

// A tuning takes programs through all that is done to each.
type tuning struct {
	s        *suite
	keep     func(j *job, err error) error
	lastTune time.Time
	slots    chan struct{} // builds at a time
	ready    chan *job     // tuned and built again
}

// all tunes programs one by one and clocks them as soon as they are built again.
func (t *tuning) all(ctx context.Context, todo *queue) error {
	ctx, stop := context.WithCancel(ctx)
	built, wait := t.build(ctx, todo)
	rebuilding := 0
	defer func() { // no build is left behind
		stop()
		_ = wait() // whoever returns early has another error
		for ; rebuilding > 0; rebuilding-- {
			<-t.ready
		}
	}()
	for built != nil || rebuilding > 0 {
		select { // what is ready before what is built
		case j := <-t.ready:
			rebuilding--
			if err := t.finish(ctx, j); err != nil {
				return err
			}
			continue
		default:
		}
		select {
		case j := <-t.ready:
			rebuilding--
			if err := t.finish(ctx, j); err != nil {
				return err
			}
		case j, ok := <-built:
			if !ok {
				built = nil
				if err := wait(); err != nil {
					return err
				}
				continue
			}
			again, err := t.tune(ctx, j)
			if err != nil {
				return err
			}
			if !again {
				continue
			}
			rebuilding++
			go func() {
				t.slots <- struct{}{}
				defer func() { <-t.slots }()
				j.err = j.apply(ctx)
				t.ready <- j
			}()
		}
	}
	return nil
}

// tune tunes a program; again: it is to be built again.
func (t *tuning) tune(ctx context.Context, j *job) (again bool, err error) {
	if j.err != nil {
		return false, t.keep(j, j.err)
	}
	tooLate := false
	took := t.s.expected[j.name].Tune
	err = j.alone(ctx, func() error {
		if tooLate = ctx.Err() != nil || time.Until(t.lastTune).Seconds() < took; tooLate {
			return nil
		}
		return j.tune(ctx)
	})
	if tooLate {
		j.free()
		return false, nil
	}
	if err != nil {
		return false, t.keep(j, err)
	}
	return true, nil
}

// finish clocks a program that is built again.
func (t *tuning) finish(ctx context.Context, j *job) error {
	if j.err == nil {
		j.err = j.alone(ctx, func() error {
			return j.measure(ctx)
		})
	}
	return t.keep(j, j.err)
}

// build builds programs, in parallel, and hands them out with their errors; all of them are to be
// received. wait is for the end, and returns what went wrong with the queue.
func (t *tuning) build(ctx context.Context, todo *queue) (built chan *job, wait func() error) {
	built = make(chan *job)
	ended := make(chan struct{})
	var failed error
	go func() {
		defer close(ended)
		defer close(built)
		failed = t.buildAhead(ctx, todo, built)
	}()
	return built, func() error {
		for j := range built {
			j.free()
		}
		<-ended
		return failed
	}
}

// buildAhead builds a few programs more than the one that the GPU has, and hands them out as they
// are ready.
func (t *tuning) buildAhead(ctx context.Context, todo *queue, built chan<- *job) error {
	place := make(chan struct{}, t.s.ahead)
	var each sync.WaitGroup
	defer each.Wait()
	for {
		place <- struct{}{}
		if ctx.Err() != nil || time.Now().After(t.lastTune) {
			return nil
		}
		j, err := todo.next(time.Until(t.lastTune))
		if j == nil {
			return err
		}
		each.Add(1)
		go func() {
			defer each.Done()
			t.buildOne(ctx, j)
			built <- j
			<-place
		}()
	}
}

func (t *tuning) buildOne(ctx context.Context, j *job) {
	t.slots <- struct{}{}
	defer func() { <-t.slots }()
	j.err = j.build(ctx)
}
