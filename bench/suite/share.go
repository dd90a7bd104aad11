package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"gnvcc/bench/lab"
)

// Several suites with one folder -work: a GPU that they use in turn, and programs that they take
// one by one. Locks are the kernel's (flock), so that a suite that is killed holds none.

// How often a suite looks whether the GPU is free.
const lookEvery = 20 * time.Millisecond

// lock takes an exclusive lock of a file, which is made where there is none; nil: somebody has it.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// alone does something with the GPU to itself. Waiting for it is no part of what is done: limits
// and times begin when it is had.
func (j *job) alone(ctx context.Context, do func() error) error {
	start := time.Now()
	for {
		f, err := lock(j.s.gpuLock)
		if err != nil {
			return err
		}
		if f != nil {
			j.result.Waited += time.Since(start).Seconds()
			err := do()
			f.Close()
			time.Sleep(2 * lookEvery) // whoever waits gets it before we ask again
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the GPU: %w", ctx.Err())
		case <-time.After(lookEvery):
		}
	}
}

// brief is what a queue wants to know of a result.
type brief struct {
	Program, Failed string
	Tune            float64
}

func briefs(path string) (map[string]brief, error) {
	list, err := lab.ReadLines(path, func(b brief) string { return b.Program })
	out := map[string]brief{}
	for _, b := range list {
		out[b.Program] = b
	}
	return out, err
}

// A queue hands out programs that are to be done, in their order.
type queue struct {
	s     *suite
	begun map[string]brief // the results that were there before
	had   map[string]bool  // what was handed out, or needs nothing
}

func (s *suite) newQueue() (*queue, error) {
	begun, err := briefs(s.results)
	if err != nil {
		return nil, err
	}
	q := &queue{s: s, begun: begun, had: map[string]bool{}}
	for _, name := range s.names {
		if q.done(name) {
			q.had[name] = true
		}
	}
	return q, nil
}

// done reports whether a program needs nothing more, as things were when we began.
func (q *queue) done(name string) bool {
	b, ok := q.begun[name]
	return ok && (b.Failed == "" || !q.s.retry)
}

// left counts the programs that were to be done and have no new result, whoever was at them.
func (q *queue) left() (n int, err error) {
	now, err := briefs(q.s.results)
	for _, name := range q.s.names {
		if !q.done(name) && now[name] == q.begun[name] {
			n++
		}
	}
	return n, err
}

// next gives a program, claimed; nil: there is none for which the time that is left is enough, as
// far as anybody knows.
func (q *queue) next(left time.Duration) (*job, error) {
	for _, name := range q.s.names {
		if q.had[name] || q.s.expected[name].Tune > left.Seconds() {
			continue
		}
		j := q.s.newJob(name)
		var err error
		if j.claim, err = lock(filepath.Join(q.s.claims, name)); err != nil {
			return nil, err
		}
		if j.claim == nil {
			continue // another suite is at it, or has done it
		}
		now, err := briefs(q.s.results)
		q.had[name] = true
		if err == nil && now[name] == q.begun[name] {
			return j, nil
		}
		j.free()
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// free gives the claim back: what has no result then may be taken by others.
func (j *job) free() {
	if j.claim != nil {
		j.claim.Close()
		j.claim = nil
	}
}
