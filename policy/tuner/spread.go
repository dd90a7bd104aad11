package tuner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
)

// The search on several GPUs: an order for each kernel, the heaviest first, to whichever worker is
// free. A worker that is lost costs its order one more try, on another one if there is one; lost
// twice, the kernel is not searched, and that is said. Where no worker is left the rest is searched
// here.

// An Engine has workers. Its implementations schedule nothing themselves: they ask Slurm, or the
// operating system.
type Engine interface {
	// Open gets the workers, all of which see a folder, and says how many there are.
	Open(ctx context.Context, shared string) (int, error)
	// Run has one of them, from 0, do an order: a file, and where to write what came of it.
	Run(ctx context.Context, worker int, order, out string) error
	// Here reports whether workers use this machine's GPUs.
	Here() bool
	Close()
}

// mostLost is how many orders a worker may lose one after the other.
const mostLost = 2

// Begun is what a worker adds to the name of its output, for a file that says that it has the
// order.
const Begun = ".begun"

// errNotBegun: an order that never reached its worker is not lost by it.
var errNotBegun = errors.New("it was not begun")

// errNowhere: a node that people log in at has no GPU.
var errNowhere = errors.New("no worker is left, and this machine has no GPU")

// margin is what an order may take beyond its budget: to start, to compile, to end what it began.
const margin = 2 * time.Minute

// A spreading is a search that workers do.
type spreading struct {
	*run
	w      *ReplaySearch
	folder string

	mu      sync.Mutex
	machine *WorkMachine // that of the first worker
	host    string       // and its name
	results []decide.Result
	since   time.Time
	state   progress
}

// progress is how far the orders are.
type progress struct {
	of, begun, done int
	workers         int           // that are left
	left            time.Duration // budgets of the orders that are not done, together
}

// String says it. What is left is a bound: most searches end before their budget does.
func (p progress) String() string {
	return fmt.Sprintf("%d of %d kernels begun, %d done, %d workers, at most %.0f s left", p.begun, p.of,
		p.done, p.workers, (p.left / time.Duration(max(p.workers, 1))).Seconds())
}

// A task is one kernel's order.
type task struct {
	kernel *policy.Kernel
	jobs   []Job
	share  float64
	device string
	tries  int
	last   int // the worker that lost it
	number int
}

// spread has workers search, in the place of ReplaySearch.pass.
func (r *run) spread(ctx context.Context, w *ReplaySearch, list []Job) []decide.Result {
	s := &spreading{run: r, w: w, since: time.Now()}
	w.account.wanted(list)
	tasks := s.tasks(list)
	workers, err := s.On.Open(ctx, s.Store.Path())
	if err == nil {
		defer s.On.Close()
		s.folder, err = os.MkdirTemp(s.Store.Path(), "orders-")
	}
	if err != nil {
		w.Say("%v: %s", err, s.where())
		s.here(ctx, tasks)
		return s.results
	}
	defer os.RemoveAll(s.folder)
	var sum float64
	for _, t := range tasks {
		sum += t.share
	}
	s.state = progress{of: len(tasks), workers: workers}
	for _, t := range tasks {
		s.state.left += s.share(t, sum, workers)
	}
	w.Say("%d kernels for %d workers", len(tasks), workers)
	if left := s.dispatch(ctx, tasks, workers, sum); len(left) > 0 && ctx.Err() == nil {
		w.Say("no worker is left for %d kernels: %s", len(left), s.where())
		s.here(ctx, left)
	}
	return s.results
}

// tasks are the captures by kernel, the heaviest first.
func (s *spreading) tasks(list []Job) []*task {
	var all []*task
	by := map[string]*task{}
	for _, j := range list {
		m := j.Capture
		k, err := s.w.Kernel(m.Cubin, m.Kernel)
		if err != nil {
			s.w.Say("%s: %v", policy.ShortName(m.Kernel), err)
			s.w.account.replayed(m, false, "", err)
			continue
		}
		t := by[k.Identity+m.Device]
		if t == nil {
			t = &task{kernel: k, device: m.Device, last: -1}
			by[k.Identity+m.Device] = t
			all = append(all, t)
		}
		t.jobs, t.share = append(t.jobs, j), t.share+j.Share
	}
	heaviestFirst(all)
	return all
}

func heaviestFirst(all []*task) {
	slices.SortStableFunc(all, func(a, b *task) int { return cmp.Compare(b.share, a.share) })
	for i, t := range all {
		t.number = i + 1
	}
}

// dispatch hands tasks to workers, and gives back those for which no worker was left.
func (s *spreading) dispatch(ctx context.Context, tasks []*task, workers int, sum float64) []*task {
	queue := slices.Clone(tasks)
	under, alive := 0, workers
	changed := sync.NewCond(&s.mu)
	stop := context.AfterFunc(ctx, changed.Broadcast)
	defer stop()
	// next waits for a task that this worker has not lost, nil where there will be none.
	next := func(worker int) *task {
		for ctx.Err() == nil && (len(queue) > 0 || under > 0) {
			i := slices.IndexFunc(queue, func(t *task) bool { return t.last != worker || alive == 1 })
			if i >= 0 {
				t := queue[i]
				queue = slices.Delete(queue, i, i+1)
				under++
				s.state.begun++
				return t
			}
			changed.Wait()
		}
		return nil
	}
	work := func(worker int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		defer changed.Broadcast()
		for lost := 0; lost < mostLost; changed.Broadcast() {
			t := next(worker)
			if t == nil {
				return
			}
			budget := s.share(t, sum, workers)
			s.mu.Unlock()
			err := s.do(ctx, worker, t, budget)
			s.mu.Lock()
			under--
			switch unfit := errors.Is(err, ErrUnfit); {
			case err == nil:
				lost = 0
				s.ended(budget)
				continue
			case ctx.Err() != nil:
				continue
			case unfit:
				lost = mostLost
			default:
				lost++
				if !errors.Is(err, errNotBegun) {
					t.tries++
				}
			}
			s.w.Say("worker %d, %s: %v", worker+1, t.kernel.Short, err)
			if t.last = worker; t.tries < 2 {
				s.state.begun--
				queue = slices.Insert(queue, 0, t)
			} else {
				s.unsearched(t, fmt.Errorf("its worker was lost twice: %w", err))
				s.ended(budget)
			}
		}
		alive-- // it is no worker any more
		s.state.workers--
	}
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() { work(worker) })
	}
	all.Wait()
	return queue
}

// ended counts an order that is over. The caller has the lock.
func (s *spreading) ended(budget time.Duration) {
	s.state.done++
	s.state.left -= budget
	if s.state.done == s.state.of {
		s.w.Say("%v", s.state)
	}
}

// share is a task's part of the budget: all workers together have the budget as often as there are
// workers, and no task more than the whole of it.
func (s *spreading) share(t *task, sum float64, workers int) time.Duration {
	part := t.share / max(sum, 1e-12) * float64(workers)
	return max(time.Duration(float64(s.w.Budget)*min(part, 1)), least)
}

// unsearched notes a task that was lost twice. The caller has the lock.
func (s *spreading) unsearched(t *task, err error) {
	s.w.Say("%s was not searched: %v", t.kernel.Short, err)
	s.results = append(s.results, decide.Result{Kernel: *t.kernel, Device: t.device,
		Alone: []string{"not searched: " + err.Error()}})
	for _, j := range t.jobs {
		s.w.account.replayed(j.Capture, false, "", err)
	}
}

// do has a worker do a task, and keeps what came of it.
func (s *spreading) do(ctx context.Context, worker int, t *task, budget time.Duration) error {
	text, err := s.order(t, budget)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("order-%d-%d", t.number, t.tries+1)
	if err := cache.WriteFile(s.folder, name+".json", text); err != nil {
		return fmt.Errorf("write an order: %w", err)
	}
	base := filepath.Join(s.folder, name)
	out := base + ".done"
	s.mu.Lock()
	s.w.Say("worker %d searches on %s (%.0f %%): %d captures, at most %.0f s; %v", worker+1,
		t.kernel.Short, 100*t.share, len(t.jobs), budget.Seconds(), s.state)
	if s.w.At != nil {
		s.w.At(s.state.begun, s.state.of, s.since.Add(s.w.Budget))
	}
	s.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, budget+margin)
	defer cancel()
	if err := s.On.Run(limited, worker, base+".json", out); err != nil {
		if _, missing := os.Stat(out + Begun); missing != nil {
			err = fmt.Errorf("%w: %w", errNotBegun, err)
		}
		return err
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return fmt.Errorf("the worker wrote nothing: %w", err)
	}
	var done Done
	if err := json.Unmarshal(b, &done); err != nil {
		return fmt.Errorf("what the worker wrote can't be read: %w", err)
	}
	if done.Order != cache.Hash(text) {
		return errors.New("the worker has done another order")
	}
	return s.take(t, &done)
}

// take keeps what came of an order. Workers have one kind of GPU and driver; who has another is
// refused by name.
func (s *spreading) take(t *task, done *Done) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := WorkMachine{done.Device, major(done.Driver)}
	if s.machine == nil {
		s.machine, s.host = &m, done.Host
	}
	if *s.machine != m {
		return fmt.Errorf(
			"%w: %s has a %q with driver %s, and %s a %q with driver %s: workers must be alike", ErrUnfit,
			done.Host, m.Device, m.Driver, s.host, s.machine.Device, s.machine.Driver)
	}
	result := decide.Result{Kernel: *t.kernel, Device: t.device, Alone: done.Alone, Lost: done.Lost,
		Between: done.Between}
	for _, d := range done.Decisions {
		if d.Identity != t.kernel.Identity || d.Pinned || d.Approximate() {
			return fmt.Errorf("%s has decided on another kernel, or otherwise than it was ordered", done.Host)
		}
		if err := s.decisions.Decide(d); err != nil {
			return err
		}
		result.Decision = &d
	}
	s.results = append(s.results, result)
	for _, j := range t.jobs {
		for _, r := range done.Rows {
			if r.Capture == j.Capture.ID {
				s.w.account.brought(j, r)
			}
		}
	}
	return nil
}

// order is the text of a task's order: the same for the same input.
func (s *spreading) order(t *task, budget time.Duration) ([]byte, error) {
	o := order{Format: orderFormat, Gnvcc: s.Options.Version, Kernel: t.kernel.Short,
		Identity: t.kernel.Identity, Budget: budget, Options: s.Options, Device: t.device,
		Captures: s.w.Captures.Path()}
	for _, j := range t.jobs {
		job := orderJob{Capture: j.Capture.ID, Share: j.Share, Rest: j.Rest}
		if j.Leader != nil {
			job.Leader = j.Leader.ID
		}
		if j.Before != nil {
			job.Before = j.Before.ID
		}
		o.Jobs = append(o.Jobs, job)
	}
	return json.Marshal(o)
}

// where says what becomes of tasks without a worker.
func (s *spreading) where() string {
	if s.NoGPU {
		return "they are not searched, since this machine has no GPU"
	}
	return "the search is done on this machine"
}

// here does tasks in this process, one after the other: what a worker does, without one.
func (s *spreading) here(ctx context.Context, tasks []*task) {
	if s.NoGPU {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, t := range tasks {
			s.unsearched(t, errNowhere)
		}
		return
	}
	var jobs []Job
	for _, t := range tasks {
		jobs = append(jobs, t.jobs...)
	}
	for _, j := range jobs {
		s.w.classify(j.Capture)
	}
	s.w.pass(ctx, jobs)
}
