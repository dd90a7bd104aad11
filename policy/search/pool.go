package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Candidates compile beside the measuring: the pool has a few workers and a queue, cheap and
// promising ones first. What was asked for once is not compiled again, whatever it gave.

// A pool compiles.
type pool struct {
	compiler policy.Compiler
	ctx      context.Context
	cancel   context.CancelFunc

	mu    sync.Mutex
	more  *sync.Cond
	jobs  map[string]*job // by identity and recipe
	queue []*job          // in the order in which they are compiled
	order int
	shut  bool
	n     int // workers
	ahead int // of them, those with what nobody waits for: half, at the most
	wg    sync.WaitGroup
}

// A job is one compile.
type job struct {
	kernel *policy.Kernel
	recipe recipe.Recipe
	rank   int // lower first
	order  int
	done   chan struct{}
	cand   *policy.Candidate
	err    error
}

// finished tells whether a compile is done.
func (j *job) finished() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// result is what a compile gave, errBudget while it is not done.
func (j *job) result() (*policy.Candidate, error) {
	if !j.finished() {
		return nil, errBudget
	}
	return j.cand, j.err
}

func (j *job) key() string { return fmt.Sprintf("%s %s", j.kernel.Identity, j.recipe) }

// newPool starts n workers; Close ends them.
func newPool(ctx context.Context, c policy.Compiler, n int) *pool {
	p := &pool{compiler: c, jobs: map[string]*job{}}
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.more = sync.NewCond(&p.mu)
	p.n = max(n, 1)
	for i := 0; i < p.n; i++ {
		p.wg.Add(1)
		go p.work()
	}
	return p
}

// want asks for a candidate; rank 0 is most urgent. Asking again with a lower rank moves it
// forward.
func (p *pool) want(k *policy.Kernel, r recipe.Recipe, rank int) *job {
	j := &job{kernel: k, recipe: r, rank: rank, done: make(chan struct{})}
	key := j.key()
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.jobs[key]; old != nil {
		if i := slices.Index(p.queue, old); rank < old.rank {
			if old.rank = rank; i >= 0 {
				p.queue = slices.Delete(p.queue, i, i+1)
				p.enter(old)
			}
			p.more.Signal() // it may have stood back
		}
		return old
	}
	p.order++
	j.order = p.order
	p.jobs[key] = j
	if p.shut {
		j.err = context.Canceled
		close(j.done)
		return j
	}
	p.enter(j)
	p.more.Signal()
	return j
}

// enter puts a job into the queue.
func (p *pool) enter(j *job) {
	i, _ := slices.BinarySearchFunc(p.queue, j, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.order, b.order))
	})
	p.queue = slices.Insert(p.queue, i, j)
}

// patience is how long Close waits for a worker. Tools that it runs end when asked to; what
// is computed here looks up now and then at best. It is a variable for tests.
var patience = 5 * time.Second

// Close drops what has not begun, ends what has, and waits for the workers; one that does not end
// is left behind, and what it finds is lost: a user does not wait for it.
func (p *pool) Close() {
	p.cancel()
	p.mu.Lock()
	p.shut = true
	for _, j := range p.queue {
		j.err = context.Canceled
		close(j.done)
	}
	p.queue = nil
	p.more.Broadcast()
	p.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		p.wg.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(patience):
	}
}

func (p *pool) work() {
	defer p.wg.Done()
	for {
		p.mu.Lock()
		for !p.shut && (len(p.queue) == 0 || p.queue[0].rank >= behind && p.ahead >= p.n/2) {
			p.more.Wait()
		}
		if p.shut {
			p.mu.Unlock()
			return
		}
		j := p.queue[0]
		p.queue = p.queue[1:]
		ahead := j.rank >= behind
		if ahead {
			p.ahead++
		}
		p.mu.Unlock()
		if j.err = p.ctx.Err(); j.err == nil {
			j.cand, j.err = p.compiler.Compile(p.ctx, j.kernel, j.recipe)
		}
		close(j.done)
		if ahead {
			p.mu.Lock()
			p.ahead--
			p.more.Signal()
			p.mu.Unlock()
		}
	}
}

// behind is the rank of what no search has asked for yet: it is compiled when nothing else is.
const behind = 1000

// Ahead lets the pool compile what the search of a configuration will ask for first, while its
// replay's process starts, or another configuration is measured. Its launches must have been seen
// (Saw).
func (t *Run) Ahead(of Captured, p *Plan) {
	c := t.Config(of)
	if !c.live() || t.ended || t.ctx.Err() != nil || c.Launch == nil || c.Launch.Device == nil ||
		c.Searched() || c.Notebook.Done || c.k.Searched() >= t.o.Full {
		return
	}
	s := t.search(t.ctx, c, c.Launch, nil, p, t.now().Add(t.o.Budget))
	s.want(recipe.Recipe{}, behind)
	if t.o.Allows(rewrite.MaxNReg) {
		low, high := ends(recipe.Recipe{})
		s.want(low, behind)
		s.want(high, behind)
	}
	var capped []recipe.Recipe
	s.sit.Region = lever.Region{Min: lever.LowestCap, Max: s.k.Default.Registers}
	for _, r := range byTurns(s.lists()) { // a first look takes one of each lever
		if lever.Of(r) == rewrite.MaxNReg {
			capped = append(capped, r)
			continue
		}
		s.want(r, behind+1)
	}
	// Which caps it will be the lowest and the highest say; the nearest to what the kernel takes are
	// mostly among them, and the cheapest: ptxas spills little for them.
	for _, r := range capped {
		s.want(r, behind+2)
	}
}
