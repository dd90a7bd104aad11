package compile

import (
	"context"
	"errors"

	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// Builds for the tuner alone, which never replace a program's own: one that counts what the kernel
// does and one that says which line of the PTX each machine instruction comes from.

// Counting makes nvcc's own build of a kernel with counters in it (rewrite.Count), and says what
// they count. It is made anew each time: a configuration is counted once.
func (c *Compiler) Counting(ctx context.Context, s *Source,
	caches counters.Caches) (*Candidate, counters.Counters, error) {
	if s.Link != nil {
		return nil, counters.Counters{}, errors.New("count: with -rdc=true a module is linked from several files")
	}
	text, counters, err := counters.Insert(s.Module, s.Kernel,
		counters.Counting{Registers: s.Default.Registers, Caches: caches})
	if err != nil {
		return nil, counters, err
	}
	out, err := c.asIs(ctx, s, text)
	return out, counters, err
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
func (c *Compiler) assemble(ctx context.Context, s *Source, text []byte,
	more ...string) ([]byte, error) {
	m, err := ptx.Parse(text)
	if err != nil {
		return nil, err
	}
	ctx, b, done, err := c.workbench(ctx, c.Limit, forOne)
	if err != nil {
		return nil, err
	}
	defer done()
	if !s.job.Call.Reloc && len(m.Entries()) > 1 {
		more = append(more, "--entry", s.Kernel)
	}
	out, _, err := b.assemble(ctx, s.job, m.Bytes(), more)
	return out, err
}

// Lines builds a kernel by a recipe once more, with the lines of the PTX in it, and gives the cubin
// and that PTX. The code is the candidate's own.
func (c *Compiler) Lines(ctx context.Context, s *Source, r recipe.Recipe) (content, text []byte,
	err error) {
	ctx, b, done, err := c.workbench(ctx, c.Limit, forOne)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	_, whole, bad, err := b.rewritten(ctx, s.input(), map[string]recipe.Recipe{s.Kernel: r})
	if err != nil {
		return nil, nil, err
	}
	for _, reason := range bad {
		return nil, nil, reason
	}
	more := []string{"-lineinfo"}
	if !s.job.Call.Reloc && len(whole.Entries()) > 1 {
		more = append(more, "--entry", s.Kernel)
	}
	text = whole.Bytes()
	content, _, err = b.assemble(ctx, s.job, text, more)
	return content, text, err
}
