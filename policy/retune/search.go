package retune

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/search"
	"gnvcc/policy/tuner"
	"gnvcc/policy/watch"
	"gnvcc/profile/capture"
	"gnvcc/rewrite/recipe"
)

// How watch tunes an edited kernel: on the launches that were captured of it before the edit.

// Tune is watch.World's.
func (w *World) Tune(ctx context.Context, j watch.Job) (watch.Outcome, error) {
	library, replayer, err := w.o.Tools()
	if err != nil {
		return watch.Outcome{}, err
	}
	w.know(j.Kernel.Cubin)
	w.mu.Lock()
	w.tuning = true
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.tuning, w.tuned = false, time.Now()
		w.mu.Unlock()
	}()
	list, total, why := w.repeatable(j)
	if len(list) == 0 {
		return watch.Outcome{Why: why, Run: true}, nil
	}
	s := &editedSearch{world: w, job: j, captured: list[0].Made}
	o := policy.Defaults()
	o.Version, o.Driver, o.Jobs = w.o.Version, w.o.Machine.Driver(), Jobs()
	o.Crashes = tuner.MostCrashes
	if w.o.Search != nil {
		w.o.Search(&o)
	}
	c := w.compiler.TryingFirst(s.first())
	run := search.NewRun(ctx, o, c, s, tuner.Memos{Store: w.store}, s)
	t := &tuner.ReplaySearch{Captures: w.captures, Run: run, Kernel: c.Kernel, Replayer: replayer,
		Agent: library, Scratch: w.scratch, GPU: w.o.GPU, Budget: w.o.Budget,
		Say: s.say}
	t.Search(ctx, t.Jobs(list, total))
	results, err := run.Finish()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = s.keep()
	}
	if err != nil {
		return watch.Outcome{}, err
	}
	return s.outcome(results), nil
}

// repeatable gives the job's captures, with the kernel as it is now in them, and what they weigh
// together; why there is none.
func (w *World) repeatable(j watch.Job) (list []*capture.Manifest, total float64, why string) {
	var code capture.Code
	if j.Again == "" {
		var err error
		if code, err = w.compiler.Captured(j.Kernel.Cubin, j.Kernel.Name); err != nil {
			return nil, 0, err.Error()
		}
	}
	for _, id := range j.Captures {
		m, err := w.captures.Load(id)
		if err == nil && j.Again == "" {
			m, err = w.captures.Edited(m, code)
		}
		if err != nil {
			why = strings.TrimPrefix(err.Error(), capture.ErrUnlike.Error()+": ")
			continue
		}
		list, total = append(list, m), total+m.Weight()
	}
	return list, total, why
}

// An editedSearch is one search on an edited kernel: policy's sink and listener.
// Decisions are kept when it is whole.
type editedSearch struct {
	policy.Silent
	world     *World
	job       watch.Job
	captured  time.Time
	decisions []cache.Decision
	measured  map[policy.Shape]int
	trouble   string // the last that was said
}

func (s *editedSearch) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !strings.HasPrefix(text, "replaying ") {
		s.trouble = text
	}
	s.world.o.Debug(text)
}

func (s *editedSearch) Note(text string) { s.world.o.Debug(text) }

// first is what stood before the edit.
func (s *editedSearch) first() (out []recipe.Recipe) {
	for _, identity := range s.job.Before {
		for _, d := range s.world.decisions.Known(identity) {
			if r, err := recipe.Parse(d.Recipe); err == nil && !r.IsDefault() && !d.Approximate() &&
				len(d.For) == 0 {
				if entries, err := r.Entries(); err == nil {
					out = append(out, entries...)
				}
			}
		}
	}
	return out
}

func (s *editedSearch) Past(k *policy.Kernel, device string) *cache.Decision {
	return s.world.decisions.Past(k, device)
}

func (s *editedSearch) Decide(d cache.Decision) error {
	note := "measured on launches that were captured before the kernel was edited (" +
		s.captured.Format(time.DateOnly) + ")"
	if s.job.Again != "" {
		note = "measured again: " + s.job.Again
	}
	d.Evidence.Note = strings.TrimPrefix(d.Evidence.Note+"; "+note, "; ")
	s.decisions = append(s.decisions, d)
	return nil
}

// Tuned is policy.Progress's.
func (s *editedSearch) Tuned(k *policy.Kernel, shape policy.Shape, o policy.Outcome) {
	if s.measured == nil {
		s.measured = map[policy.Shape]int{}
	}
	s.measured[shape] = max(s.measured[shape], o.Run)
}

// keep hands the decisions over and lets builds see them.
func (s *editedSearch) keep() error {
	for _, d := range s.decisions {
		if err := s.world.decisions.Decide(d); err != nil {
			return fmt.Errorf("keep what was decided: %w", err)
		}
	}
	return s.world.decisions.Publish()
}

// outcome sums the search up.
func (s *editedSearch) outcome(results []decide.Result) watch.Outcome {
	var out watch.Outcome
	for _, n := range s.measured {
		out.Candidates += n
	}
	for _, r := range results {
		if r.Kernel.Identity != s.job.Kernel.Identity {
			continue
		}
		d := r.Decision
		switch {
		case r.Lost != "":
			out.Why = "a process of the search was lost: " + r.Lost
		case d == nil || len(d.Evidence.Launches) == 0:
			for _, a := range r.Alone {
				out.Why = a
			}
			if out.Why == "" && d != nil {
				out.Why = d.Evidence.Note
			}
		default:
			out.Recipe, out.Ratio, out.Launch = d.Recipe, d.Evidence.Ratio(),
				d.Evidence.Launches[0].Before.Median/1e9
		}
		if d != nil && (out.Why != "" || len(d.Evidence.Launches) > 0) {
			return out
		}
	}
	if out.Why == "" {
		out.Why, out.Run = s.trouble, true
	}
	if out.Why == "" {
		out.Why = "the captured launch could not be repeated"
	}
	return out
}
