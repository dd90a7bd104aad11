package compile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"

	"gnvcc/cache"
	"gnvcc/driver/job"
	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// The hash of a kernel's code, as lock files have it: of all that decides what ptxas makes of the
// kernel under its recipe.
//
//   - the normal form (rewrite/ptx) of the kernel as ptxas is given it, and of its second entries:
//     that is what every pass of ours and cicc have made
//   - the recipe's text, since the host chooses second entries by it, and flags of ptxas stand in
//     it
//   - ptxas' version and the target
//
// Why not the machine code: in a cubin a kernel's bytes depend on what else is in the file (places
// of constant variables, numbers of symbols in relocations), so that a colleague's new variable
// would cost every other kernel its recipe. The normal form is the same wherever the kernel stands,
// as its identity is, and one version of ptxas gives one code for it. It can be compared before
// ptxas is run, too.

// codeForm changes with what goes into the hash.
const codeForm = "code 1"

// errOtherCode says why a locked recipe is not carried out.
var errOtherCode = errors.New(
	"the lock file records different code: the recipe compiles differently here than where it was exported (another gnvcc, another source of the same kernel, a line changed by hand); tune or export again")

// codeOf hashes a kernel's code in the module that ptxas is given. entries are the kernel's own and
// its second ones.
func codeOf(whole *ptx.Module, entries []string, r recipe.Recipe, target,
	version string) (string, error) {
	parts := []string{codeForm, r.String(), target, version}
	for _, entry := range entries {
		h, err := whole.Identity(entry)
		if err != nil {
			return "", err
		}
		parts = append(parts, h.String())
	}
	return cache.HashOf(parts...)[:32], nil
}

// entriesOf are a kernel's entries in the planned module, in their names' order.
func (p *plan) entriesOf(kernel string) []string {
	entries := []string{kernel}
	for _, s := range p.seconds {
		if s.kernel == kernel {
			entries = append(entries, s.name)
		}
	}
	sort.Strings(entries)
	return entries
}

// locked compares the code of kernels that are locked with what the lock file says. It gives those
// that differ.
func (b *Workbench) locked(j *job.Job, p *plan, whole *ptx.Module,
	recipes map[string]recipe.Recipe) map[string]error {
	bad := map[string]error{}
	for name, r := range recipes {
		want := b.Normals[name][cache.CodeKey]
		if want == "" {
			continue
		}
		switch code, err := codeOf(whole, p.entriesOf(name), r, j.Call.Target, j.Version); {
		case err != nil:
			bad[name] = err
		case code != want:
			bad[name] = fmt.Errorf("%w (%.8s, locked %.8s)", errOtherCode, code, want)
		}
	}
	return bad
}

// asChecked compares the code of entries that passes on PTX have changed, beyond what is exact by
// construction, with the code whose results were checked (Evidence.Normals): another gnvcc may make
// something else of the same recipe, which was not checked. What it finds goes into the plan's
// own normal forms.
func (b *Workbench) asChecked(p *plan, whole *ptx.Module) (map[string]error, error) {
	bad := map[string]error{}
	for entry, r := range p.passes {
		if rewrite.ExactnessOf(r) != rewrite.Checked {
			continue
		}
		kernel, what := entry, "ptx "+r.String()
		for _, s := range p.seconds {
			if s.name == entry {
				kernel, what = s.kernel, "ptx "+s.term.String()+" "+r.String()
			}
		}
		text, err := whole.Normal(entry)
		if err != nil {
			return nil, err
		}
		// A candidate's entry has another name where it is launched as the kernel is.
		code := cache.Hash(bytes.ReplaceAll(text, []byte(entry), []byte(kernel)))[:32]
		p.normals[what] = code
		if want := b.Normals[kernel][what]; want != "" && want != code {
			bad[kernel] = fmt.Errorf("%s compiles to different code here (%.8s) than was checked (%.8s): tune again",
				r, code, want)
		}
	}
	return bad, nil
}

// Code gives the hash of a kernel's code under a recipe, with the normal forms that a decision has
// of it. Nothing is assembled. An error says why a build would not carry the recipe out.
func (c *Compiler) Code(ctx context.Context, s *Source, r recipe.Recipe,
	normals map[string]string) (string, error) {
	if err := rewrite.Check(r); err != nil {
		return "", err
	}
	for _, asked := range Asked(s.Kernel, r) {
		if normals[asked] == "" {
			return "", ErrNotOnRecord
		}
	}
	ctx, b, done, err := c.workbench(ctx, Limit, forOne)
	if err != nil {
		return "", err
	}
	defer done()
	b.Normals = map[string]map[string]string{s.Kernel: normals}
	recipes := map[string]recipe.Recipe{s.Kernel: r}
	p, whole, bad, err := b.rewritten(ctx, s.input(), recipes)
	if err != nil {
		return "", err
	}
	for _, reason := range bad {
		return "", reason
	}
	return codeOf(whole, p.entriesOf(s.Kernel), r, s.job.Call.Target, s.job.Version)
}
