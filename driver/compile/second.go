package compile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/job"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/manner"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/await"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/stub"
	"gnvcc/sim"
	"gnvcc/sim/cubin"
	"gnvcc/sim/sass"
)

// Second entries. A recipe with spec{...} terms leaves the kernel itself as nvcc makes it. For each
// such term there is a second entry next to it, compiled for the values between the braces, and all
// other terms of the recipe are for the second entries. The host stub, which nvcc compiles after
// ptxas has run, launches a second entry where the arguments have those values.
//
// The stub is the host's: of several targets of one compile only one target's stub is compiled, and
// it chooses for all of them. So a second entry's name holds what it was compiled for: where
// another target has been specialised for other values, the entry of that name is not there, and
// the stub launches the plain kernel.

// A second is one second entry to be made.
type second struct {
	kernel string      // the entry that it stands for
	name   string      // its own
	term   recipe.Term // the spec term
	rest   recipe.Recipe
	guard  recipe.Guard  // of the term
	blocks int           // throttled to so many resident ones, 0: not
	manner manner.Manner // how it is launched, without a reserve
}

// tunedMark stands between a kernel's name and what its second entry is for.
const tunedMark = "__tuned_"

// secondName names the second entry of a kernel for a spec term. Its code may be for the way in
// which it is launched, and another target's stub would launch it in another way: so the name holds
// that, too.
func secondName(kernel string, t recipe.Term, m manner.Manner) string {
	text := t.String()
	if !m.Own() {
		text += fmt.Sprintf(" %+v", m)
	}
	return kernel + tunedMark + cache.Hash([]byte(text))[:8]
}

// KernelOf gives the name of the kernel that an entry stands for, and whether it is a second
// entry.
func KernelOf(entry string) (string, bool) {
	i := strings.LastIndex(entry, tunedMark)
	if i > 0 && i+len(tunedMark)+8 == len(entry) {
		return entry[:i], true
	}
	return entry, false
}

// secondsOf splits a recipe: none where it is for the kernel itself.
func secondsOf(kernel string, r recipe.Recipe) ([]second, error) {
	entries, err := r.Entries()
	if err != nil {
		return nil, err
	}
	var out []second
	for _, e := range entries {
		s := second{kernel: kernel}
		for _, t := range e.Terms {
			if t.IsSecond() {
				s.term = t
			} else {
				s.rest.Terms = append(s.rest.Terms, t)
			}
		}
		if s.guard, err = s.term.Guard(); err != nil {
			return nil, err
		}
		s.blocks, s.manner = rewrite.Throttle(e), rewrite.MannerOf(e)
		s.name = secondName(kernel, s.term, s.manner)
		out = append(out, s)
	}
	return out, nil
}

// entryOf is what a candidate is launched by: its first second entry, where it has one.
func entryOf(kernel string, r recipe.Recipe) string {
	if seconds, err := secondsOf(kernel, r); err == nil && len(seconds) > 0 {
		return seconds[0].name
	}
	return kernel
}

// plain reports whether the second entry is made of nvcc's own PTX: then neither cicc nor the source
// is needed.
func (s second) plain() bool {
	return s.guard.HostOnly() && rewrite.At(s.rest, rewrite.Source).IsDefault()
}

// plainChoice is choice for such an entry.
func (s second) plainChoice() stub.Choice {
	out := stub.Choice{Entry: s.kernel, Second: s.name, Block: s.guard.Block(), Grid: s.guard.Grid(),
		Manner: s.manner}
	if bytes, ok := s.guard.Dynamic(); ok {
		out.Dynamic = &bytes
	}
	out.Args = s.integers()
	return out
}

// integers are the conditions on arguments that the host alone looks at.
func (s second) integers() (out []stub.Arg) {
	for _, c := range s.guard.Conditions {
		if c.Kind == recipe.HostArgument {
			out = append(out, stub.Arg{Index: c.Of.Index, Offset: c.Of.Offset, Bytes: c.Raw()})
		}
	}
	return out
}

// variant is what cicc has to compile for it: one for all of its entries that differ in what the
// host alone looks at.
func (s second) variant() variantOf {
	g, own := s.guard, s.guard.HostOnly()
	g.Conditions = slices.DeleteFunc(slices.Clone(g.Conditions), func(c recipe.Condition) bool {
		return c.Host() && (!own || c.Kind == recipe.HostArgument || c.Kind == recipe.HostGrid)
	})
	term := s.term
	if len(g.Conditions) > 0 {
		term = g.Term()
	}
	return variantOf{entry: s.kernel, terms: append(rewrite.At(s.rest, rewrite.Source).Terms, term)}
}

// choice says to the stub when the second entry is to be launched.
func (s second) choice(k *lowered.Kernel, signature []string) (stub.Choice, error) {
	c, err := k.Conditions(s.term, signature)
	if err != nil {
		return stub.Choice{}, err
	}
	out := stub.Choice{Entry: s.kernel, Second: s.name, Block: c.Block, Grid: c.Grid,
		Manner: s.manner}
	if c.HasDynamic {
		out.Dynamic = &c.Dynamic
	}
	out.Args = s.integers()
	for _, a := range c.Arguments {
		if a.Align > 0 {
			out.Align = append(out.Align, stub.Align{Index: a.Index, Bytes: a.Align})
		} else {
			out.Args = append(out.Args, stub.Arg{Index: a.Index, Offset: a.Offset, Bytes: a.Bytes})
		}
	}
	return out, nil
}

// throttled is how a second entry is launched, with what its throttling takes. shared are its
// static bytes, as ptxas gave them.
func (s second) throttled(cc, shared int) (manner.Manner, error) {
	m := s.manner
	if s.blocks == 0 {
		return m, nil
	}
	d, known := sim.Lookup(cc)
	if !known {
		return m, fmt.Errorf("throttle=%d: the shared memory of sm_%d is not known", s.blocks, cc)
	}
	dynamic, _ := s.guard.Dynamic()
	r, ok := d.Throttle(s.blocks, shared+dynamic)
	if !ok {
		return m, fmt.Errorf(
			"throttle=%d: blocks with %d bytes of shared memory can't be limited to that number on sm_%d", s.blocks,
			shared+dynamic, cc)
	}
	m.Reserve = manner.Reserve{On: r.On, Dynamic: r.Dynamic, Carveout: r.Carveout, Binary: cc}
	return m, nil
}

// launched is the block of all launches of a second entry, zeros where they may have any.
func (s second) launched() [3]int {
	return s.manner.In(s.guard.Block())
}

// otherwise says why a kernel can't be launched as a second entry is to be, nil where it can. m is
// what that is compiled from.
func (s second) otherwise(m *ptx.Module) error {
	for _, a := range s.integers() {
		f := m.Entry(s.kernel)
		if a.Index >= len(f.Params) || a.Offset+len(a.Bytes) > f.Params[a.Index].Size() {
			return fmt.Errorf("argument %d has no %d bytes at %d", a.Index, len(a.Bytes), a.Offset)
		}
	}
	if s.blocks > 0 {
		if err := rewrite.Throttleable(m, s.kernel); err != nil {
			return fmt.Errorf("throttle=%d: %w", s.blocks, err)
		}
	}
	if b := s.manner.Block; b != [3]int{} {
		if err := rewrite.Shapeable(m, s.kernel); err != nil {
			return fmt.Errorf("shape=%dx%dx%d: %w", b[0], b[1], b[2], err)
		}
	}
	if by := s.manner.Coarse; by != [3]int{} {
		if err := rewrite.Coarsens(m, s.kernel, s.manner, s.guard.Block()); err != nil {
			return fmt.Errorf("coarsen=%dx%dx%d: %w", by[0], by[1], by[2], err)
		}
	}
	return nil
}

// shaped says what of a second entry's machine code speaks against launching it in other blocks:
// they don't fit, or it was to be the kernel's own arithmetic and is not.
func (s second) shaped(m *ptx.Module, k cubin.Kernel, content []byte) error {
	if s.manner.Block == [3]int{} {
		return nil
	}
	if err := rewrite.Takes(m.Entry(s.kernel), k.Registers, s.manner.Block); err != nil {
		return err
	}
	return s.ownArithmetic(content, content, s.name)
}

// ownArithmetic says how a second entry that was to be the kernel's own arithmetic in other blocks
// is not: ptxas may compute a value twice where registers are scarce. was is a cubin with the
// kernel as nvcc compiles it, is one with the entry. The search asks that as builds do, so that it
// claims nothing that they refuse.
func (s second) ownArithmetic(was, is []byte, entry string) error {
	if !s.comparable() {
		return nil
	}
	return sass.SameEntries(was, s.kernel, is, entry)
}

// comparable reports whether a second entry in other blocks is to have the kernel's own
// floating-point instructions. Others were compared on launches.
func (s second) comparable() bool {
	return s.manner.Block != [3]int{} && s.plain() &&
		rewrite.ExactnessOf(s.rest) <= rewrite.ByConstruction
}

// waitings keeps mayWait's answers, by the hash of the PTX.
var waitings sync.Map

// noSecond says why a kernel can't have second entries, "" where it can.
func (s *Source) noSecond() string {
	if why := merged(s.job, s.Module, s.Kernel); why != "" {
		return why
	}
	why := sharedHost(s.translation, s.Module, s.Kernel, func() *lowered.Kernel { return s.Code })
	if why == "" && notEager(s.job) != "" {
		why = mayWait(s.job, s.Module)
	}
	if why == "" && s.translation == nil { // no compile of its source: no host stub
		why = s.NoSource
	}
	return why
}

// mayWait says which kernel of a file may wait for what other kernels do, and so why none of the
// file may have a second entry that is loaded at a launch; "" where none does. It would wait for
// ever next to such a one (seen on an H200). A kernel that waits in another file is not seen.
func mayWait(j *job.Job, m *ptx.Module) string {
	if why, ok := waitings.Load(j.Hash); ok {
		return why.(string)
	}
	why := ""
	for _, f := range m.Entries() {
		waits, err := await.Why(m, f.Name)
		if err != nil {
			waits = "its code can't be followed"
		}
		if waits != "" {
			why = fmt.Sprintf("%s in the same file may wait for other blocks (%s): a launch that "+
				"loads a second entry could deadlock", f.Name, waits)
			break
		}
	}
	waitings.Store(j.Hash, why)
	return why
}

// A HostStub is the stub of the build that the ptxas stage is part of.
type HostStub struct {
	Path string
	text []byte
}

// FindStub finds the stub that belongs to a PTX: cicc writes both, with one base name.
func FindStub(ptxFile string) (*HostStub, error) {
	path := strings.TrimSuffix(ptxFile, ".ptx") + ".cudafe1.stub.c"
	if !strings.HasPrefix(filepath.Base(path), toolcmd.Temporary) {
		return nil,
			fmt.Errorf(
				"a second entry needs a changed host stub, and %s is a file of yours (--keep, or a PTX file compiled by itself)", filepath.Base(path))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("a second entry is chosen in the host stub: %w", err)
	}
	if strings.Contains(string(text), "__gnvcc_second") {
		return nil, fmt.Errorf("the host stub was changed for another target of the same compile")
	}
	return &HostStub{path, text}, nil
}

// Patch tries the choices on the stub's text.
func (h *HostStub) Patch(choices []stub.Choice) (text []byte, refused map[string]error) {
	return stub.Patch(h.text, choices)
}

// Kernels that begin before the grid in front of them has ended, and wait for its end
// (griddepcontrol.wait; rewrite.Overlaps).

// keepsWait says why an entry of a cubin, made of a kernel by a recipe, could touch memory
// before the grid in front of it has ended. Where the kernel's own accesses stand in front of
// the wait, its code looks like one in which others came there, and is refused.
func keepsWait(m *ptx.Module, kernel string, content []byte, entry string) error {
	if !bytes.Contains(m.Bytes(), []byte("griddepcontrol.wait")) {
		return nil
	}
	why, err := rewrite.Overlaps(m, kernel)
	if err != nil || why == "" {
		return err
	}
	functions, err := sass.Read(content)
	if err != nil {
		return fmt.Errorf("find the accesses before griddepcontrol.wait: %w", err)
	}
	for _, f := range functions {
		if f.Name != entry {
			continue
		}
		if n, waits := f.BeforeWait(); waits && n > 0 {
			return fmt.Errorf(
				"%d of its accesses to memory can come before griddepcontrol.wait: whether they do in nvcc's code is not known",
				n)
		}
	}
	return nil
}
