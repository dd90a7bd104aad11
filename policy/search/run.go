package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// The searches of one tuning run: its kernels, and at the end what is believed of each.

// A Run has the kernels of a tuning run, and compiles for all of their searches. It is for one
// goroutine at a time.
type Run struct {
	o        policy.Options
	compiler policy.Compiler
	sink     policy.Sink
	memory   policy.Memory
	progress policy.Progress
	pool     *pool
	now      func() time.Time
	ctx      context.Context // when it ends, so do searches

	counting map[string]*countingBuild // by identity and recipe

	kernels map[string]*kernel // by identity and device
	byName  map[string]*kernel // by Captured.id; nil: the user did not ask for it
	order   []*kernel
	ended   bool
}

// NewRun makes a run; Finish ends it. Where ctx ends before, nothing is searched any more. progress
// may be nil.
func NewRun(ctx context.Context, o policy.Options, c policy.Compiler, s policy.Sink,
	m policy.Memory, p policy.Progress) *Run {
	if p == nil {
		p = policy.Silent{}
	}
	return &Run{o: o, compiler: c, sink: s, memory: m, progress: p, now: time.Now, ctx: ctx,
		counting: map[string]*countingBuild{}, kernels: map[string]*kernel{}, byName: map[string]*kernel{}, pool: newPool(ctx, c, o.Jobs)}
}

// A kernel is what the run found of one.
type kernel struct {
	decide.Findings
	crashes int // of candidates: each costs a process
	configs map[policy.Shape]*Config
}

// A Captured names what is replayed.
type Captured struct {
	Cubin, Kernel string
	Shape         policy.Shape
	Device        string // the model of GPU: a kernel on another one is searched by itself
}

func (c Captured) id() string { return c.Cubin + " " + c.Kernel + " " + c.Device }

// Saw enters launches of the program: how often, for how long, with which values.
func (t *Run) Saw(list []profile.Seen) {
	for _, seen := range list {
		k := t.kernel(seen.Launch)
		if k == nil {
			continue
		}
		c := t.config(k, seen.Launch)
		c.Count += seen.Launch.Count
		c.Varied += seen.Varied
		c.Seconds += seen.Seconds
		c.Sampled += seen.Sampled
		c.Classes = profile.JoinClasses(c.Classes, seen.Classes)
		l := *seen.Launch
		l.Others = l.Together() || c.Launch != nil && c.Launch.Together()
		c.Launch = &l
	}
}

// LeaveAlone notes why a launch can't be searched.
func (t *Run) LeaveAlone(l *profile.Launch, reason string) {
	k := t.kernel(l)
	if k == nil {
		return
	}
	c := t.config(k, l)
	if k.Alone == "" && !c.Searched() && c.Alone == "" {
		c.Alone = reason
		t.progress.Alone(&k.Kernel, c.Shape, reason)
	}
}

// kernel returns what a launch's kernel is, nil if the user did not ask for it.
func (t *Run) kernel(l *profile.Launch) *kernel {
	device := l.Model()
	id := Captured{Cubin: l.Cubin, Kernel: l.Kernel, Device: device}.id()
	if k, ok := t.byName[id]; ok {
		return k
	}
	var k *kernel
	known, err := (*policy.Kernel)(nil), error(nil)
	if l.Cubin == "" {
		err = errors.New("its module is not known")
	} else {
		known, err = t.compiler.Kernel(l.Cubin, l.Kernel)
	}
	switch {
	case err != nil:
		k = &kernel{Findings: decide.Findings{Kernel: policy.Kernel{Name: l.Kernel,
			Short: policy.ShortName(l.Kernel)}, Device: device, Alone: policy.FirstLine(err)}}
		k.Default.Registers = l.Registers
	case t.kernels[known.Identity+device] != nil: // the same kernel in another module
		k = t.kernels[known.Identity+device]
		k.For = slices.Compact(slices.Sorted(slices.Values(append(k.For, known.For...))))
	default:
		k = &kernel{Findings: decide.Findings{Kernel: *known, Device: device, Alone: known.Alone}}
		if k.Bounds != "" && t.o.Keep && k.Alone == "" {
			t.progress.Note(fmt.Sprintf("%s: %s is kept", k.Label(), k.Bounds))
		}
		t.kernels[known.Identity+device] = k
		t.remember(k)
	}
	if k.configs == nil {
		k.configs = map[policy.Shape]*Config{}
		if t.o.Only != nil && !t.o.Only.MatchString(k.Name) && !t.o.Only.MatchString(k.Short) {
			k = nil
		} else {
			t.order = append(t.order, k)
			if k.Alone != "" {
				t.progress.Alone(&k.Kernel, policy.ShapeOf(l), k.Alone)
			}
		}
	}
	t.byName[id] = k
	return k
}

// remember brings in an earlier decision: its recipe competes, and its configurations count.
func (t *Run) remember(k *kernel) {
	if t.sink == nil {
		return
	}
	k.Past = t.sink.Past(&k.Kernel, k.Device)
	if k.Past == nil || k.Past.Recipe == "" {
		return
	}
	r, err := recipe.Parse(k.Past.Recipe)
	if err != nil || rewrite.ExactnessOf(r) > t.o.Exact || !lever.Allowed(&t.o, &k.Kernel, r) {
		return
	}
	entries, err := r.Entries()
	if err != nil {
		return
	}
	if len(entries) < 2 {
		k.Win(r)
		return
	}
	for _, e := range entries { // each is a kernel of its own, and is looked at by itself
		k.Win(e)
	}
}

// Finish ends the run: it settles every kernel and hands the decisions to the sink. Results come in
// order of first launch.
func (t *Run) Finish() ([]decide.Result, error) {
	t.pool.Close()
	t.ended = true
	last := decide.Run{Options: &t.o, Memory: t.memory, Now: t.now}
	for _, k := range t.order {
		last.Kernels = append(last.Kernels, &k.Findings)
	}
	results := last.Settle()
	var failed error
	for _, r := range results {
		if r.Decision != nil && t.sink != nil {
			if err := t.sink.Decide(*r.Decision); err != nil && failed == nil {
				failed = fmt.Errorf("keep what was decided for %s: %w", r.Kernel.Label(), err)
			}
		}
	}
	return results, failed
}
