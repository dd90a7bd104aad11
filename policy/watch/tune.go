package watch

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"gnvcc/policy"
)

// Kernels that are tuned.

// work says what is to be tuned, the heaviest first, and what can't be for now; w.mu is held.
func (w *Watcher) work() (jobs []Job, waits []Wait) {
	seen := map[string]bool{}
	hashes := make([]string, 0, len(w.commands))
	for hash := range w.commands {
		hashes = append(hashes, hash)
	}
	slices.Sort(hashes)
	for _, hash := range hashes {
		c := w.commands[hash]
		for _, k := range c.Kernels {
			job, wait := w.match.look(c, k)
			switch {
			case seen[k.Identity]:
			case wait != nil:
				waits = append(waits, *wait)
				seen[k.Identity] = true
			case job != nil:
				seen[k.Identity] = true
				if job.Again == "" && w.isDecided(k.Identity, job.Device) {
					continue
				}
				if l, ok := w.left[k.Identity]; ok && l.on == job.on() {
					waits = append(waits, Wait{Kernel: k.Name, Source: k.Source, Identity: k.Identity, Why: l.why,
						Run: l.run, Share: job.Share})
					continue
				}
				job.Before = append(slices.Clone(w.history[place{c.Output, k.Source, k.Name, k.CC}]),
					job.Before...)
				jobs = append(jobs, *job)
			}
		}
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(b.Share, a.Share) })
	return jobs, waits
}

func (w *Watcher) isDecided(identity, device string) bool {
	key := [2]string{identity, device}
	if !w.decided[key] {
		w.decided[key] = w.world.Decided(identity, device)
	}
	return w.decided[key]
}

// tuneNext tunes the heaviest kernel that there is.
func (w *Watcher) tuneNext(ctx context.Context) (did bool) {
	w.mu.Lock()
	jobs, waits := w.work()
	if len(jobs) == 0 {
		w.paused[true] = ""
	}
	w.mu.Unlock()
	w.logWaits(waits)
	if len(jobs) == 0 || ctx.Err() != nil {
		return false
	}
	if !w.free(true) {
		return false
	}
	w.gpu.Lock()
	defer w.gpu.Unlock()
	job := jobs[0]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	what := "tuning " + job.Kernel.Name
	w.mu.Lock()
	w.tuning, w.cancel, w.doing[what] = &job, cancel, true
	noticed := w.noticed
	w.mu.Unlock()
	w.stir()
	begun := time.Now()
	stop := w.yield(ctx, cancel)
	var out Outcome
	err := guarded(func() (err error) {
		out, err = w.world.Tune(ctx, job)
		return err
	})
	stop()
	w.mu.Lock()
	w.tuning, w.cancel = nil, nil
	delete(w.doing, what)
	if err == nil {
		if noticed.IsZero() {
			noticed = begun
		}
		w.settle(job, out, time.Since(noticed))
	} else if ctx.Err() == nil { // not interrupted: what went wrong is the world's, and lasts perhaps
		w.left[job.Kernel.Identity] = left{policy.FirstLine(err), false, job.on()}
	}
	w.mu.Unlock()
	if err == nil || ctx.Err() == nil {
		text := out.text()
		if job.Again != "" {
			text += "; it was tuned again, since " + job.Again
		}
		w.o.Log(Event{What: "tuned", Kernel: job.Kernel.Name, Text: text, Took: time.Since(begun),
			Candidates: out.Candidates, Err: err})
	}
	return true
}

// guarded turns a panic into an error: one kernel, or one command, is not to end the watch.
func guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}

// settle notes what tuning a kernel gave; w.mu is held.
func (w *Watcher) settle(job Job, out Outcome, took time.Duration) {
	k := job.Kernel
	w.measured[k.Name] += out.Candidates
	w.decided[[2]string{k.Identity, job.Device}] = false // ask
	delete(w.match.news, k.Identity)
	if out.Why == "" && !w.isDecided(k.Identity, job.Device) {
		out.Why = "nothing came out of it" // a second time it would be the same
	}
	if out.Why != "" {
		w.left[k.Identity] = left{out.Why, out.Run, job.on()}
	} else {
		w.tuned++
		for hash := range w.commands {
			c := w.commands[hash]
			if slices.ContainsFunc(c.Kernels, func(x Kernel) bool { return x.Identity == k.Identity }) {
				p := place{c.Output, k.Source, k.Name, k.CC}
				list := append([]string{k.Identity}, w.history[p]...)
				w.history[p] = list[:min(len(list), 3)]
			}
		}
	}
	d := Done{Kernel: k.Name, Source: k.Source, Identity: k.Identity, Recipe: out.Recipe,
		Ratio: out.Ratio, Launch: out.Launch,
		Candidates: out.Candidates, Why: out.Why, When: time.Now(), Took: took.Seconds()}
	list := append([]Done{d}, w.last...)
	w.last = list[:min(len(list), kept)]
}

func (o Outcome) text() string {
	switch {
	case o.Why != "":
		return "left alone: " + o.Why
	case o.Recipe == "":
		return "best as it is"
	}
	return fmt.Sprintf("%s (%.2fx)", o.Recipe, 1/max(o.Ratio, 1e-9))
}

// yield ends the tuning when somebody else wants the machine.
func (w *Watcher) yield(ctx context.Context, cancel context.CancelFunc) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(max(w.o.Pause/5, 100*time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
				if !w.free(true) {
					cancel()
					return
				}
			}
		}
	}()
	return func() { close(done) }
}

// logWaits says once why a kernel waits.
func (w *Watcher) logWaits(waits []Wait) {
	for _, x := range waits {
		w.mu.Lock()
		known := w.logged[x.Identity+x.Why]
		w.logged[x.Identity+x.Why] = true
		w.mu.Unlock()
		if !known {
			w.o.Log(Event{What: "waits", Kernel: x.Kernel, Text: x.Why})
		}
	}
}

// runs runs the user's program where that brings launches of kernels that were built, once for each
// time that it was built. It reports whether such kernels wait.
func (w *Watcher) runs(ctx context.Context, work *sync.WaitGroup) (wait bool) {
	program := w.world.Program()
	w.mu.Lock()
	isBuilt := map[string]bool{}
	for _, c := range w.built {
		for _, k := range c.Kernels {
			isBuilt[k.Identity] = true
		}
	}
	_, waits := w.work()
	var names []string
	for _, x := range waits {
		if !x.Run || !isBuilt[x.Identity] {
			continue
		}
		wait = true
		if w.ran[x.Identity] != program {
			w.ran[x.Identity] = program
			names = append(names, x.Kernel)
		}
	}
	w.mu.Unlock()
	if len(names) == 0 {
		return wait
	}
	work.Go(func() {
		w.gpu.Lock()
		defer w.gpu.Unlock()
		what := "running the program for " + strings.Join(names, ", ")
		w.mu.Lock()
		w.doing[what] = true
		w.mu.Unlock()
		w.stir()
		begun := time.Now()
		err := w.world.Run(ctx, names)
		w.mu.Lock()
		delete(w.doing, what)
		w.mu.Unlock()
		w.o.Log(Event{What: "run", Text: strings.Join(names, ", "), Took: time.Since(begun), Err: err})
		if err := w.reload(false); err != nil {
			w.o.Log(Event{What: "failed", Text: "what the run has left can't be read", Err: err})
		}
		w.stir()
	})
	return wait
}
