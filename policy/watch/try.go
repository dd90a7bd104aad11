package watch

import (
	"context"
	"errors"
	"time"

	"gnvcc/driver/apply"
	"gnvcc/policy/edits"
)

// Commands that are run again.

// remembered is how many results of one command are kept: a branch switch and back runs nothing.
const remembered = 8

// nextDirty takes the heaviest command that is to be run again. Those of which no launch is
// captured have nothing to be tuned; the next build shows what they are.
func (w *Watcher) nextDirty() (c Command, found bool) {
	best := -1.0
	for hash := range w.dirty {
		known, there := w.commands[hash]
		weight, any := w.match.weight(known)
		if !there || !any {
			delete(w.dirty, hash)
			continue
		}
		if w.trying[hash] == nil && weight > best {
			c, best, found = known, weight, true
		}
	}
	return c, found
}

// tryNext runs one command again.
func (w *Watcher) tryNext(ctx context.Context) (did bool) {
	w.mu.Lock()
	for hash, when := range w.retry {
		if time.Now().After(when) {
			delete(w.retry, hash)
			w.dirty[hash] = true
		}
	}
	c, found := w.nextDirty()
	if !found {
		w.paused[false] = ""
	}
	w.mu.Unlock()
	if !found || !w.free(false) {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	if w.trying[c.Hash] != nil || !w.dirty[c.Hash] { // another was quicker
		w.mu.Unlock()
		return true
	}
	w.trying[c.Hash], w.doing["running again: "+c.Name] = cancel, true
	delete(w.dirty, c.Hash)
	w.mu.Unlock()
	w.stir()
	begun := time.Now()
	now, compiled, err := w.give(ctx, c)
	w.mu.Lock()
	delete(w.trying, c.Hash)
	delete(w.doing, "running again: "+c.Name)
	interrupted := ctx.Err() != nil
	if interrupted {
		w.dirty[c.Hash] = true
	} else {
		w.take(c, now, err)
	}
	if compiled {
		w.tried++
	}
	w.mu.Unlock()
	switch {
	case interrupted:
	case err != nil:
		w.o.Log(Event{What: "failed", Command: c.Name, Err: err, Took: time.Since(begun)})
	default:
		w.follow()
		e := Event{What: "tried", Command: c.Name, Took: time.Since(begun)}
		if !compiled {
			e.What = "known"
		}
		w.o.Log(e)
	}
	return true
}

// give runs a command again, unless it was run before with its files as they are.
func (w *Watcher) give(ctx context.Context, c Command) (now Command, compiled bool, err error) {
	w.mu.Lock()
	earlier := w.results[c.Hash]
	w.mu.Unlock()
	for _, r := range earlier {
		if edits.Digest(r.command.Read) == r.digest {
			return r.command, false, nil
		}
	}
	before := edits.Digest(c.Read)
	if err = guarded(func() (err error) {
		now, err = w.world.Try(ctx, c)
		return err
	}); err != nil {
		return c, true, err
	}
	digest := edits.Digest(now.Read)
	if edits.Digest(c.Read) != before { // edited meanwhile: not to be believed later on
		return now, true, nil
	}
	w.mu.Lock()
	w.remember(digest, now)
	w.mu.Unlock()
	return now, true, nil
}

// take takes the result in; what could not be had leaves the last good one as it was.
func (w *Watcher) take(c, now Command, err error) {
	switch {
	case errors.Is(err, apply.ErrSource):
		w.failing[c.Hash] = err.Error()
		return
	case err != nil:
		w.failing[c.Hash] = err.Error()
		w.retry[c.Hash] = time.Now().Add(w.o.Retry)
		return
	}
	delete(w.failing, c.Hash)
	w.commands[c.Hash] = now
	if w.tuning == nil {
		return
	}
	jobs, _ := w.work()
	for _, j := range jobs {
		if j.Kernel.Identity == w.tuning.Kernel.Identity {
			return
		}
	}
	w.cancel() // the kernel that is being tuned is another one now
}

// free reports whether the machine, or its GPU, has time for us, and notes why not.
func (w *Watcher) free(gpu bool) bool {
	why := w.world.Busy(gpu)
	w.mu.Lock()
	news := why != w.paused[gpu]
	w.paused[gpu] = why
	w.mu.Unlock()
	if news && why != "" {
		w.o.Log(Event{What: "paused", Text: why})
	}
	if news {
		w.stir()
	}
	return why == ""
}
