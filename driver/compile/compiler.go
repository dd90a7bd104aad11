package compile

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/child"
	"gnvcc/driver/environment"
	"gnvcc/driver/job"
	"gnvcc/driver/record"
	"gnvcc/rewrite"
	"gnvcc/rewrite/manner"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
	"gnvcc/sim/cubin"
)

// The tuner's compiler: from a cubin that an application has loaded back to the PTX and the source
// that it was made from, and from there to candidates, through the same steps as a build with the
// recipe.

// A Compiler makes candidates. Its methods may be called from several goroutines.
type Compiler struct {
	Limit time.Duration // for one tool's run; a candidate that takes longer is refused

	env     *environment.Environment
	store   *cache.Store
	dir     string // scratch
	fresh   record.Fresh
	tried   sync.Map // assemblies of commands that were tried, by their cubins' hashes
	number  atomic.Int64
	flights flights
	spent   struct {
		sync.Mutex
		runs map[string]int
		took map[string]time.Duration
		cpu  map[string]time.Duration
	}
}

// limitTool is the usual Limit. ptxas takes some 100 ms on most files of programs, a minute on the
// largest kernels of libraries.
const limitTool = 2 * time.Minute

// New makes a compiler with a scratch folder, which must exist and is the caller's to remove.
func New(store *cache.Store, dir string) *Compiler {
	c := &Compiler{Limit: limitTool, env: environment.Read(), store: store, dir: dir,
		fresh: record.Fresh{Store: store}}
	c.spent.runs, c.spent.took = map[string]int{}, map[string]time.Duration{}
	c.spent.cpu = map[string]time.Duration{}
	return c
}

// workbench makes one with a folder of its own, to be used for so long. done removes it.
func (c *Compiler) workbench(of context.Context, limit time.Duration, mode purpose) (
	ctx context.Context, b *Workbench, done func(), err error) {
	folder := filepath.Join(c.dir, "compile"+strconv.FormatInt(c.number.Add(1), 10))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, nil, fmt.Errorf("scratch folder: %w", err)
	}
	b = &Workbench{Store: c.store, Env: c.env, Log: c.env.Log(), Folder: folder, Start: child.Run,
		mode: mode, after: c.account, flights: &c.flights}
	ctx, cancel := context.WithTimeout(of, limit)
	return ctx, b, func() { cancel(); os.RemoveAll(folder) }, nil
}

func (c *Compiler) account(tool string, took, cpu time.Duration) {
	c.spent.Lock()
	defer c.spent.Unlock()
	c.spent.runs[tool]++
	c.spent.took[tool] += took
	c.spent.cpu[tool] += cpu
}

// Spent says how often a tool (cicc, ptxas, nvlink) was run, and how long that took in all.
func (c *Compiler) Spent(tool string) (runs int, took time.Duration) {
	c.spent.Lock()
	defer c.spent.Unlock()
	return c.spent.runs[tool], c.spent.took[tool]
}

// A Candidate is a kernel compiled by a recipe.
type Candidate struct {
	Cubin      string // object: what the driver can load
	Path       string `json:"-"` // of a file with that; it stays in the store
	Entry      string // what to launch in it: the kernel's own name, or that of a second entry
	Build      cache.Build
	MaxThreads int           // largest block by directives, 1024 if none
	Manner     manner.Manner `json:"-"` // how it is to be launched

	Normals map[string]string // what cicc gave for it (normalOf), for the decision's evidence
	// hash of what the GPU would execute, where somebody has asked; equal codes need one measurement
	Code string `json:"-"`
}

// Limit is the largest block by directives.
func (c *Candidate) Limit() int {
	if c.MaxThreads > 0 {
		return c.MaxThreads
	}
	return sim.BlockThreads
}

const memoCandidate cache.Memos[keptOf[Candidate]] = "candidate"

// Compile makes a candidate. An error says why there is none: the recipe can't be carried out, or a
// tool refused it. What was made once is found again, refusals too; ctx and Limit end what takes
// too long, which is tried again another time.
func (c *Compiler) Compile(ctx context.Context, s *Source, r recipe.Recipe) (*Candidate, error) {
	if rewrite.Launched(r) {
		return c.launched(ctx, s, r)
	}
	return c.candidate(ctx, s, r)
}

// launched makes a candidate that is launched otherwise than the kernel. Where its code does not
// depend on that it is made once, for all levels and blocks.
func (c *Compiler) launched(ctx context.Context, s *Source, r recipe.Recipe) (*Candidate, error) {
	if err := rewrite.Check(r); err != nil {
		return nil, err
	}
	seconds, err := secondsOf(s.Kernel, r)
	if err != nil {
		return nil, err
	}
	if len(seconds) != 1 {
		return nil, fmt.Errorf("recipe %q: a candidate is one second entry", r)
	}
	second := seconds[0]
	if err := second.otherwise(s.Module); err != nil {
		return nil, err
	}
	rest := second.rest.Without(rewrite.Throttling)
	// no code that knows its block
	if second.plain() && !rewrite.KnowsBlock(rest) {
		rest = rest.Without(rewrite.Reshaping)
	}
	cand, err := c.candidate(ctx, s, rest.With(second.term))
	if err != nil {
		return nil, err
	}
	out := *cand
	if out.Manner, err = second.throttled(ptx.Capability(s.Target), cand.Build.Shared); err != nil {
		return nil, err
	}
	if b := second.manner.Block; b != [3]int{} {
		if err := rewrite.Takes(s.Module.Entry(s.Kernel), cand.Build.Registers, b); err != nil {
			return nil, err
		}
		if err := c.sameArithmetic(ctx, s, second, cand); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// sameArithmetic says what speaks against a candidate in other blocks whose build would be compared
// with the kernel's own code.
func (c *Compiler) sameArithmetic(ctx context.Context, s *Source, e second, cand *Candidate) error {
	if !e.comparable() {
		return nil
	}
	was, err := c.own(ctx, s)
	if err != nil {
		return err
	}
	is, err := os.ReadFile(cand.Path)
	if err != nil {
		return fmt.Errorf("read the candidate: %w", err)
	}
	return e.ownArithmetic(was, is, cand.Entry)
}

func (c *Compiler) candidate(ctx context.Context, s *Source, r recipe.Recipe) (*Candidate, error) {
	parts := []string{"candidate 4", s.job.Key, s.Kernel, r.String(), cache.OwnKey()}
	if t := s.translation; t != nil {
		parts = append(parts, t.Input, t.Lowered)
	}
	if s.Link != nil {
		parts = append(parts, s.Link.Cubin, s.Assembly.Cubin)
	}
	key := cache.HashOf(parts...)
	out, err := recall(ctx, c.store, &c.flights, memoCandidate, key, func(out Candidate) bool {
		return c.store.HasObject(out.Cubin)
	}, func() (Candidate, error) { return c.make(ctx, s, r) })
	if err == nil {
		out.Path, err = c.store.ObjectFile(out.Cubin)
	}
	if err != nil {
		return nil, err
	}
	return &out, nil
}

// candidateOf reads what a cubin has of a candidate's entry.
func candidateOf(content []byte, entry string) (out Candidate, k cubin.Kernel, err error) {
	f, err := cubin.Read(content)
	if err != nil {
		return out, k, fmt.Errorf("read the candidate: %w", err)
	}
	k, ok := f.Kernel(entry)
	if !ok {
		return out, k, fmt.Errorf("the candidate has no kernel %s", entry)
	}
	return Candidate{Entry: entry, Build: job.BuildOf(k), MaxThreads: cmp.Or(max(k.MaxThreads, 0), sim.BlockThreads)}, k, nil
}

// own is the cubin of the kernel as nvcc compiles and links it.
func (c *Compiler) own(ctx context.Context, s *Source) ([]byte, error) {
	own, err := c.candidate(ctx, s, recipe.Recipe{})
	if err != nil {
		return nil, fmt.Errorf("compile %s as nvcc does: %w", s.Kernel, err)
	}
	return os.ReadFile(own.Path)
}

// deeper says that a linked candidate takes local memory that nvcc's own program does not, with all
// that it calls: how much that is stands in linked cubins alone.
func (c *Compiler) deeper(ctx context.Context, s *Source, now cubin.Kernel) error {
	if s.Link == nil || now.StackAll <= rewrite.StackLimit {
		return nil
	}
	content, err := c.own(ctx, s)
	if err != nil {
		return err
	}
	f, err := cubin.Read(content)
	if err != nil {
		return fmt.Errorf("read nvcc's own program: %w", err)
	}
	if was, _ := f.Kernel(s.Kernel); now.StackAll > was.StackAll {
		return fmt.Errorf("it takes %d bytes of local memory a thread with all that it calls (%d by nvcc)",
			now.StackAll, was.StackAll)
	}
	return nil
}

// make makes a candidate.
func (c *Compiler) make(ctx context.Context, s *Source, r recipe.Recipe) (none Candidate, err error) {
	ctx, b, done, err := c.workbench(ctx, c.Limit, forOne)
	if err != nil {
		return none, err
	}
	defer done()
	recipes := map[string]recipe.Recipe{s.Kernel: r}
	out, bad, err := b.try(ctx, s.input(), recipes)
	if err != nil {
		return none, err
	}
	for _, reason := range bad {
		return none, reason
	}
	entry := entryOf(s.Kernel, r)
	content := out.Content
	if s.Link != nil {
		if content, err = c.link(ctx, b, s, content); err != nil {
			return none, err
		}
	}
	made, k, err := candidateOf(content, entry)
	if err != nil {
		return none, err
	}
	if err := keepsWait(s.Module, s.Kernel, content, entry); err != nil {
		return none, err
	}
	if waits := mayWait(s.job, s.Module); entry != s.Kernel && waits != "" &&
		k.Stack > max(s.Default.Stack, rewrite.StackLimit) {
		return none, fmt.Errorf("it takes %d bytes of local memory a thread (%d by nvcc), and %s", k.Stack,
			s.Default.Stack, waits)
	}
	if !r.IsDefault() { // that is what deeper compares with
		if err := c.deeper(ctx, s, k); err != nil {
			return none, err
		}
	}
	made.Normals = out.normals
	made.Build.Spill = cubin.Spills(out.messages)[entry]
	if made.Cubin, err = c.store.PutObject(content); err != nil {
		return none, fmt.Errorf("keep the candidate: %w", err)
	}
	return made, nil
}
