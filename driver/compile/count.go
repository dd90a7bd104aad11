package compile

import (
	"context"
	"errors"

	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// A build for the tuner alone, which never replaces a program's own: one that counts how often basic
// blocks run.

// Counting makes the build of a kernel by a recipe, nvcc's own by none, with counters in it, and says
// what they count. It is made anew each time.
func (c *Compiler) Counting(ctx context.Context, s *Source, r recipe.Recipe) (*Candidate, counters.Counters, error) {
	switch {
	case s.Link != nil:
		return nil, nil, errors.New("count: with -rdc=true a module is linked from several files")
	case !r.IsDefault():
		return c.countingBy(ctx, s, r)
	}
	text, counters, err := counters.Insert(s.Module, s.Kernel, s.Default.Registers)
	if err != nil {
		return nil, nil, err
	}
	out, err := c.asIs(ctx, s, text)
	return out, counters, err
}

// countingBy counts in the PTX of a candidate, which is launched as that is.
func (c *Compiler) countingBy(ctx context.Context, s *Source, r recipe.Recipe) (*Candidate, counters.Counters, error) {
	cand, err := c.Compile(ctx, s, r)
	if err != nil {
		return nil, nil, err
	}
	ctx, b, done, err := c.workbench(ctx, c.Limit, forOne)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	_, whole, bad, err := b.rewritten(ctx, s.input(), map[string]recipe.Recipe{s.Kernel: r})
	for _, reason := range bad {
		err = reason
	}
	if err != nil {
		return nil, nil, err
	}
	out := *cand
	out.Entry = entryOf(s.Kernel, r) // a candidate's name may leave out how it is launched
	text, counters, err := counters.Insert(whole, out.Entry, cand.Build.Registers)
	if err != nil {
		return nil, nil, err
	}
	var more []string
	if !s.job.Call.Reloc {
		more = []string{"--entry", out.Entry}
	}
	content, _, err := b.assemble(ctx, s.job, text, more)
	if err == nil {
		out.Cubin, err = c.store.PutObject(content)
	}
	if err == nil {
		out.Path, err = c.store.ObjectFile(out.Cubin)
	}
	return &out, counters, err
}

// asIs makes a candidate of a text that has the kernel.
func (c *Compiler) asIs(ctx context.Context, s *Source, text []byte) (*Candidate, error) {
	content, err := c.assemble(ctx, s, text)
	if err != nil {
		return nil, err
	}
	out, _, err := candidateOf(content, s.Kernel)
	if err == nil {
		out.Cubin, err = c.store.PutObject(content)
	}
	if err == nil {
		out.Path, err = c.store.ObjectFile(out.Cubin)
	}
	return &out, err
}

// assemble gives ptxas a text with the options of the kernel's own compile.
func (c *Compiler) assemble(ctx context.Context, s *Source, text []byte) ([]byte, error) {
	m, err := ptx.Parse(text)
	if err != nil {
		return nil, err
	}
	ctx, b, done, err := c.workbench(ctx, c.Limit, forOne)
	if err != nil {
		return nil, err
	}
	defer done()
	var more []string
	if !s.job.Call.Reloc && len(m.Entries()) > 1 {
		more = []string{"--entry", s.Kernel}
	}
	out, _, err := b.assemble(ctx, s.job, m.Bytes(), more)
	return out, err
}
