package compile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"gnvcc/cache"
	"gnvcc/driver/child"
	"gnvcc/driver/environment"
	"gnvcc/driver/job"
	"gnvcc/rewrite"
	"gnvcc/rewrite/merge"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/await"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/stub"
	"gnvcc/sim/cubin"
)

// A Workbench compiles kernels by recipes: for a build (the ptxas stage) and for the tuner
// (Compiler). It works quietly, in a folder of its own, and never touches a file of nvcc's.
type Workbench struct {
	Store  *cache.Store
	Env    *environment.Environment
	Log    zerolog.Logger
	Folder string                                // scratch, the workbench's own
	Start  func(*exec.Cmd) (child.Ending, error) // runs a child, unseen by the user
	Kept   func(name string, content []byte)     // GNVCC_KEEP
	// what other benches make just now; nil: there are none
	flights *flights
	mode    purpose
	Stub    func() (*HostStub, error) // the build's host stub; nil: there need be none
	// why launches of its file need many resident blocks (HostResident); "": none are known
	AllResident string
	// what recipes for the source must give (asMeasured); nil: whatever they give
	Normals map[string]map[string]string
	count   atomic.Int64 // for names of files
	// variants that were read or made, by key: several attempts at a build ask for them
	variants map[string]compiledVariant
	after    func(what string, took, cpu time.Duration) // called after each tool run; may be nil
}

// An input is the PTX of one ptxas call, with what is known of it.
type input struct {
	job         *job.Job
	translation *cache.Translation // the cicc call that wrote the PTX; nil: not known
	module      *ptx.Module        // the PTX; read only
	kernels     []cache.Kernel     // nvcc's own compile of it
}

// A Result is a cubin made by recipes.
type Result struct {
	Content  []byte
	Kernels  []cache.Kernel   // with what was applied, and why not
	Refused  map[string]error // recipes that were wanted and are not in it
	Choices  []stub.Choice    // second entries, for the host stub
	messages string           // ptxas' own, about a file of ours
	ptx      []byte           // what ptxas was given
	normals  map[string]string
}

// Build makes the cubin of a job with the recipes of some of its kernels. std are the kernels of
// nvcc's own compile. A recipe that can't be carried out, that ptxas refuses or whose kernel would
// no longer launch with every block is left out, with the reason, and the others stay. Where none
// is left, content is nil.
func (b *Workbench) Build(ctx context.Context, j *job.Job, t *cache.Translation,
	recipes map[string]recipe.Recipe, std []cache.Kernel) (*Result, error) {
	module, err := j.Read()
	if err != nil {
		return nil, fmt.Errorf("read the PTX: %w", err)
	}
	for name, r := range recipes {
		if len(askedOf(name, r)) > 0 {
			t = b.withLowered(ctx, t)
			break
		}
	}
	in, left := input{j, t, module, std}, maps.Clone(recipes)
	refused := map[string]error{}
	drop := func(reasons map[string]error) {
		for name, reason := range reasons {
			if _, ok := left[name]; ok {
				refused[name] = reason
				delete(left, name)
			}
		}
	}
	alone := map[string]bool{} // kernels that compiled when they were the only ones
	for len(left) > 0 {
		out, bad, err := b.try(ctx, in, left)
		var refusal *toolError
		switch {
		case errors.As(err, &refusal) || errors.Is(err, errLimit):
			if bad = b.culprits(ctx, in, left, err, alone); ctx.Err() != nil {
				return nil, ctx.Err()
			}
			drop(bad)
		case err != nil:
			return nil, err
		case len(bad) > 0:
			drop(bad)
		default:
			for i := range out.Kernels {
				k := &out.Kernels[i]
				if r, ok := left[k.Name]; ok {
					k.Recipe = r.String()
				}
				if reason, ok := refused[k.Name]; ok {
					k.Unapplied = Unapplied(recipes[k.Name], reason)
				}
			}
			out.Refused = refused
			return out, nil
		}
	}
	return &Result{Refused: refused}, nil
}

// Unapplied says which recipe was not applied, and why.
func Unapplied(r recipe.Recipe, reason error) *cache.Unapplied {
	return &cache.Unapplied{Recipe: r.String(), Why: reason.Error(), Lasting: Lasting(reason)}
}

// Lasting reports whether the next build from the same things would fail in the same way.
func Lasting(reason error) bool { return !transient(reason) }

// culprits finds the kernels whose recipes a tool refuses, by giving them to it one at a time.
// There is at least one in what it returns.
func (b *Workbench) culprits(ctx context.Context, in input, left map[string]recipe.Recipe,
	reason error, alone map[string]bool) map[string]error {
	bad := map[string]error{}
	if len(left) > 1 {
		for name, r := range left {
			if alone[name] {
				continue
			}
			if _, more, err := b.try(ctx, in, map[string]recipe.Recipe{name: r}); err != nil {
				bad[name] = err
			} else if more[name] != nil {
				bad[name] = more[name]
			} else {
				alone[name] = true
			}
		}
	}
	if len(bad) == 0 { // each alone is fine, or there is but one
		for name := range left {
			bad[name] = reason
		}
	}
	return bad
}

// rewritten makes the PTX that ptxas is to be given. bad are the kernels whose recipes stand in the
// way; then there is none.
func (b *Workbench) rewritten(ctx context.Context, in input,
	recipes map[string]recipe.Recipe) (p *plan, whole *ptx.Module, bad map[string]error, err error) {
	p, bad = b.plan(ctx, in, recipes)
	if len(bad) > 0 || ctx.Err() != nil {
		return nil, nil, bad, ctx.Err()
	}
	whole = in.module
	if len(p.variants) > 0 {
		merged, refused, err := merge.Into(whole, p.variants)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("put the kernels together: %w", err)
		}
		if len(refused) > 0 {
			return nil, nil, p.blame(refused), nil
		}
		whole = merged
	}
	if passes := 0; b.Kept != nil {
		p.options.After = func(kernel, lever string, text []byte) {
			passes++
			b.keep(fmt.Sprintf("%s.%d.%s.ptx", kernel, passes, lever), text)
		}
	}
	whole, refused := p.options.Rewrite(whole, p.passes)
	if len(refused) > 0 {
		return nil, nil, p.blame(refused), nil
	}
	if bad, err = b.asChecked(p, whole); err != nil || len(bad) > 0 {
		return nil, nil, bad, err
	}
	if bad := b.locked(in.job, p, whole, recipes); len(bad) > 0 {
		return nil, nil, bad, nil
	}
	return p, whole, nil, nil
}

// try makes the cubin with exactly these recipes. bad are the kernels whose recipes stand in the
// way; then there is no result.
func (b *Workbench) try(ctx context.Context, in input,
	recipes map[string]recipe.Recipe) (out *Result, bad map[string]error, err error) {
	p, whole, bad, err := b.rewritten(ctx, in, recipes)
	if err != nil || len(bad) > 0 {
		return nil, bad, err
	}
	text := whole.Bytes()
	var argv []string
	if b.mode == forOne && !in.job.Call.Reloc && len(in.module.Entries()) > 1 {
		// A candidate is one kernel. ptxas makes the same code of it without the others (compared
		// for 12.4, 13.0 and 13.5).
		for name, r := range recipes {
			argv = append(argv, "--entry", entryOf(name, r))
		}
	}
	if b.mode == forPin && p.alone(in.job) {
		var entries []string
		if in.kernels, entries = p.entries(in, recipes); len(entries) < len(whole.Entries()) {
			argv = append(argv, "--entry", strings.Join(entries, ","))
		}
	}
	if b.mode != forBuild && !in.job.Call.Verbose { // the cubin does not hold the bytes spilled
		argv = append(argv, "-v")
	}
	content, messages, bad, err := b.code(ctx, in, p, text, argv)
	if err == nil && len(bad) == 0 {
		content, bad = linkable(in, p, content)
	}
	if err != nil || len(bad) > 0 {
		return nil, bad, err
	}
	out = &Result{Content: content, Choices: p.choices, messages: messages, ptx: text,
		normals: p.normals}
	if b.mode == forOne {
		return out, nil, nil
	}
	out.Kernels, bad, err = b.check(in, p, recipes, content)
	if err != nil || len(bad) > 0 {
		return nil, bad, err
	}
	job.Spills(out.Kernels, []child.Message{{Text: messages}})
	return out, nil, nil
}

// code assembles the text of a plan. Where a kernel of the file may wait, second entries are loaded
// with the file: in a candidate, too, so that the driver of this machine has taken such a file
// before any build has it.
func (b *Workbench) code(ctx context.Context, in input, p *plan, text []byte,
	argv []string) (content []byte, messages string, bad map[string]error, err error) {
	if len(p.seconds) > 0 && p.waits != "" {
		content, messages, err = b.eager(ctx, in.job, in.module, text, argv, p.seconds)
		if err == nil || ctx.Err() != nil {
			return content, messages, nil, err
		}
		bad = map[string]error{}
		for _, s := range p.seconds {
			bad[s.kernel] = fmt.Errorf("%s (%w)", p.waits, err)
		}
		return nil, "", bad, nil
	}
	content, messages, err = b.assemble(ctx, in.job, text, argv)
	return content, messages, nil, err
}

// check reads a cubin back and compares it with nvcc's own compile: every kernel is there, none
// that was to stay as it is has other resources, and each launches with every block that it did
// before.
func (b *Workbench) check(in input, p *plan, recipes map[string]recipe.Recipe,
	content []byte) ([]cache.Kernel, map[string]error, error) {
	kernels, file, err := job.ReadBack(in.kernels, content)
	if err != nil {
		return nil, nil, err
	}
	bad := map[string]error{}
	for i, k := range kernels {
		kernels[i].Spill = 0
		was := in.kernels[i]
		r, changed := recipes[k.Name]
		switch {
		case !changed || r.HasSecond():
			if k.Registers != was.Registers || k.Stack != was.Stack || k.Shared != was.Shared {
				return nil, nil, fmt.Errorf(
					"%s should be unchanged, but has %d registers, %d bytes of stack and %d of shared memory; nvcc's own has %d, %d, %d",
					k.Name, k.Registers, k.Stack, k.Shared, was.Registers, was.Stack, was.Shared)
			}
		default:
			now, _ := file.Kernel(k.Name)
			reason := shrinks(in.module, k.Name, was, now,
				rewrite.Launches{Waits: b.resident(in.translation, was, now)})
			if reason == nil {
				reason = keepsWait(in.module, k.Name, content, k.Name)
			}
			if reason != nil {
				bad[k.Name] = reason
			}
		}
	}
	for i, s := range p.seconds {
		k, ok := file.Kernel(s.name)
		if !ok {
			return nil, nil, fmt.Errorf("the cubin has no second entry %s", s.name)
		}
		var before cache.Kernel
		for _, was := range in.kernels {
			if was.Name == s.kernel {
				before = was
			}
		}
		if p.choices[i].Manner, err = s.throttled(file.Target, k.Shared); err != nil {
			bad[s.kernel] = err
			continue
		}
		err := s.shaped(in.module, k, content)
		if err == nil {
			block := s.launched()
			err = shrinks(in.module, s.kernel, before, k, rewrite.Launches{Dynamic: p.choices[i].Dynamic,
				Largest: block[0] * block[1] * block[2], Instead: p.waits == ""})
		}
		if err != nil {
			bad[s.kernel] = fmt.Errorf("the second entry: %w", err)
		}
	}
	return kernels, bad, nil
}

// shrinks says why launches could fail, or hang, with an entry of the cubin in a kernel's place.
// l is what is known of them; where Largest is 0 they may have all blocks that nvcc's own code has.
func shrinks(m *ptx.Module, kernel string, was cache.Kernel, now cubin.Kernel,
	l rewrite.Launches) error {
	if l.Largest == 0 {
		l.Largest = rewrite.LargestBlock(m.Entry(kernel), was.Registers)
	}
	if now.Registers > was.Registers || now.Shared > was.Shared {
		waits, err := await.Why(m, kernel)
		if err != nil {
			waits = "its code can't be followed"
		}
		l.Waits = cmp.Or(waits, l.Waits)
	}
	return l.Shrinks(rewrite.Code{Registers: was.Registers, Shared: was.Shared, Stack: was.Stack},
		rewrite.Code{Registers: now.Registers, Shared: now.Shared, Threads: now.MaxThreads,
			Stack: now.Stack})
}

// NormalsText is that of the normal forms that they rest on.
func NormalsText(normals map[string]map[string]string) string {
	var lines []string
	for name, of := range normals {
		for what, normal := range of {
			lines = append(lines, name+": "+what+": "+normal)
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// RecipesText is the canonical text of what several kernels are wanted to be built with.
func RecipesText(recipes map[string]recipe.Recipe) string {
	lines := make([]string, 0, len(recipes))
	for name, r := range recipes {
		lines = append(lines, name+": "+r.String())
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// A purpose is what a workbench compiles for.
type purpose uint8

const (
	forBuild purpose = iota // the whole file; the zero value
	forOne                  // a file with the one kernel that is asked for, and what ptxas -v says of it
	forPin                  // in the file; kernels without a recipe need not be in it; ptxas -v, too
)
