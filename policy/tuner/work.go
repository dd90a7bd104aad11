package tuner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/standing"
	"gnvcc/driver/toolkit"
	"gnvcc/policy"
	"gnvcc/policy/search"
	"gnvcc/profile/capture"
)

// A unit of work: the searches and checks of one kernel, as a file, and what came of them, as
// another. Candidates can't be such units: search and replay talk with each other and adapt. The
// search is the one of gnvcc tune (ReplaySearch); what differs is that nothing is decided here. The
// worker reads the store that its owner has, writes its decisions down, and whoever gave the order keeps them, so that an order may be
// done twice, or be lost, and no store has two owners. Only ratios travel: a decision's times are
// those of the machine that measured it, which has the GPU that the order names.

const orderFormat = 1

// An order is one kernel's captures, and how they are to be searched.
type order struct {
	Format   int
	Gnvcc    string // version: another one may search otherwise
	Kernel   string // for people
	Identity string
	Jobs     []orderJob
	Budget   time.Duration
	Options  policy.Options
	Device   string // the GPU that the captures are from
	Captures string // folder
}

// An orderJob is a Job by the names of its captures.
type orderJob struct {
	Capture, Leader, Before string
	Share                   float64
	Rest                    float64 `json:",omitempty"`
}

// Done is what came of an order.
type Done struct {
	Order     string // hash of the order's text
	Host      string
	Device    string // "" where it is not known
	Driver    string
	Decisions []cache.Decision
	Alone     []string       // why it was left alone
	Between   []policy.Shape `json:",omitempty"` // sizes for which others stand
	Said      []string
	Rows      []row  // of the account: how each capture went
	Lost      string // what ended a process while it was tuned
}

// A WorkMachine is what a worker must have in common with others.
type WorkMachine struct{ Device, Driver string }

// ThisMachine is the one that we are on.
func ThisMachine() WorkMachine { return WorkMachine{standing.GPU(), DriverVersion()} }

// A Worker does orders.
type Worker struct {
	Store   *cache.Store
	Tools   toolkit.Toolkit
	GPU     GPU // nil: this machine's
	Machine WorkMachine
	Version string // of gnvcc
}

// ErrUnfit is wrapped where a worker is not one for an order, whatever other workers are.
var ErrUnfit = errors.New("it can't be a worker")

// Do does an order. The error is about this worker.
func (w Worker) Do(ctx context.Context, text []byte) (*Done, error) {
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("read the order: %w", err)
	}
	done := &Done{Order: cache.Hash(text), Device: w.Machine.Device, Driver: w.Machine.Driver}
	done.Host, _ = os.Hostname()
	switch {
	case o.Format != orderFormat:
		return nil, fmt.Errorf("an order of format %d: this gnvcc knows %d", o.Format, orderFormat)
	case o.Gnvcc != w.Version:
		return nil, fmt.Errorf("%w: the order is of gnvcc %s, and on %s there is %s", ErrUnfit, o.Gnvcc,
			done.Host, w.Version)
	case w.Machine.Device != "" && w.Machine.Device != o.Device:
		return nil, fmt.Errorf("%w: %s has a %s, and the launches were captured on a %s", ErrUnfit,
			done.Host, w.Machine.Device, o.Device)
	}
	captures, err := capture.Open(o.Captures)
	if err != nil {
		return nil, err
	}
	jobs, err := o.jobs(captures)
	if err != nil {
		return nil, err
	}
	return done, w.search(ctx, &o, captures, jobs, done)
}

// search is the search of an order.
func (w Worker) search(ctx context.Context, o *order, captures *capture.Store, jobs []Job,
	done *Done) error {
	compiler, err := NewCompiler(w.Store)
	if err != nil {
		return err
	}
	defer compiler.Close()
	kernel, err := compiler.Kernel(jobs[0].Capture.Cubin, jobs[0].Capture.Kernel)
	switch {
	case err != nil: // another toolkit than it was built with, say
		return fmt.Errorf("%w: %s: %w", ErrUnfit, done.Host, err)
	case kernel.Identity != o.Identity:
		return fmt.Errorf("%s: the kernel is another one here", done.Host)
	}
	library, err := BuildAgent(ctx, w.Store, w.Tools.Dir())
	if err != nil {
		return fmt.Errorf("%s: %w", done.Host, err)
	}
	replayer, err := BuildReplayer(ctx, w.Store, w.Tools.Dir())
	if err != nil {
		return fmt.Errorf("%s: %w", done.Host, err)
	}
	folder, err := SocketScratch()
	if err != nil {
		return err
	}
	defer folder.Remove()
	memory := newMemoryFolder()
	defer memory.Remove()
	o.Options.Driver, o.Options.Rule = w.Machine.Driver, policy.Defaults().Rule
	o.Options.Crashes, o.Options.Full = MostCrashes, mostFull
	sink := &workSink{&Decisions{ctx: ctx, store: w.Store}, done}
	run := search.NewRun(ctx, o.Options, compiler, sink, Memos{w.Store}, nil)
	s := &ReplaySearch{Captures: captures, Run: run, Kernel: compiler.Kernel, Replayer: replayer,
		Agent: library, Scratch: folder.Path, GPU: w.GPU, Budget: o.Budget,
		Say: func(format string, args ...any) {
			done.Said = append(done.Said, fmt.Sprintf(format, args...))
		}, memory: memory}
	var list []*capture.Manifest
	for _, j := range jobs {
		list = append(list, j.Capture)
	}
	s.account.captured(list)
	s.Search(ctx, jobs)
	done.Rows = s.account.rows
	results, err := run.Finish()
	for _, r := range results {
		done.Lost = cmp.Or(done.Lost, r.Lost)
		done.Between = append(done.Between, r.Between...)
		done.Alone = append(done.Alone, r.Alone...)
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

var errNoCapture = errors.New("an order without a capture")

// jobs are those that the order names.
func (o *order) jobs(s *capture.Store) ([]Job, error) {
	at := map[string]*capture.Manifest{"": nil}
	load := func(id string) (*capture.Manifest, error) {
		if m, ok := at[id]; ok {
			return m, nil
		}
		m, err := s.Load(id)
		at[id] = m
		return m, err
	}
	var out []Job
	for _, j := range o.Jobs {
		job := Job{Share: j.Share, Rest: j.Rest}
		for id, to := range map[*string]**capture.Manifest{&j.Capture: &job.Capture, &j.Leader: &job.Leader,
			&j.Before: &job.Before} {
			var err error
			if *to, err = load(*id); err != nil {
				return nil, err
			}
		}
		if job.Capture == nil {
			return nil, errNoCapture
		}
		out = append(out, job)
	}
	if len(out) == 0 {
		return nil, errNoCapture
	}
	return out, nil
}

// A workSink takes decisions down, and knows what the store does.
type workSink struct {
	*Decisions
	done *Done
}

func (s *workSink) Decide(d cache.Decision) error {
	s.done.Decisions = append(slices.DeleteFunc(s.done.Decisions, func(old cache.Decision) bool {
		return old.Key() == d.Key()
	}), d)
	return nil
}

// major is a driver's main version.
func major(driver string) string {
	first, _, _ := strings.Cut(driver, ".")
	return first
}
