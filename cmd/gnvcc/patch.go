package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/diff"

	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/driver/record"
	"gnvcc/policy"
	"gnvcc/policy/tuner"
	"gnvcc/rewrite/recipe"
)

// A recipe as a change to the user's source, for who wants what was found without gnvcc: unroll
// pragmas and register caps. What has no such form that gnvcc itself could check (cache hints,
// second entries, ...) is named in front of it.

// sources are the kernels that were built here, with their source.
type sources struct {
	compiler *tuner.Compiler
	built    map[string]record.BuiltKernel // by identity
}

func openSources(store *cache.Store) (*sources, error) {
	c, err := tuner.NewCompiler(store)
	if err != nil {
		return nil, err
	}
	return &sources{c, newestBuilt(store)}, nil
}

// of is the source of a decision's kernel.
func (x *sources) of(d cache.Decision) (*compile.Source, record.BuiltKernel, error) {
	b, ok := x.built[d.Identity]
	if !ok {
		return nil, b, errors.New("this code was not built here")
	}
	s, err := x.compiler.Compiler.Built(b.Assembly, b.Name)
	if err == nil && s.Code == nil {
		err = errors.New(s.NoSource)
	}
	return s, b, err
}

// site is where a term of a recipe acts: a loop, or the kernel; "" where that is not known.
func (x *sources) site(d cache.Decision, t recipe.Term) string {
	s, _, err := x.of(d)
	if err != nil {
		return ""
	}
	for _, l := range s.Code.Loops {
		if l.Site != "" && l.Site == t.Site {
			return fmt.Sprintf("loop at %s:%d", l.File, l.Line)
		}
	}
	return fmt.Sprintf("kernel at %s:%d", s.Code.File, s.Code.Line)
}

// printPatches prints the diffs of decisions; those without a recipe have none.
func (x *sources) printPatches(found []cache.Decision) error {
	var failed error
	for _, d := range found {
		if d.Recipe == "" {
			fmt.Fprintf(stderr, "gnvcc: %s is best as nvcc builds it\n", policy.ShortName(d.Kernel))
			continue
		}
		text, err := x.patchOf(d)
		if err != nil {
			fmt.Fprintf(stderr, "gnvcc explain: %s: no diff: %v\n", policy.ShortName(d.Kernel), err)
			failed = exit(1)
			continue
		}
		if _, err := os.Stdout.WriteString(text); err != nil { // the source as it is, byte for byte
			return err
		}
	}
	return failed
}

// patchOf is a decision's recipe as a diff. A diff for other launches than the recipe, or with a part of
// it, is compiled first, as gnvcc pin would.
func (x *sources) patchOf(d cache.Decision) (string, error) {
	s, b, err := x.of(d)
	if err != nil {
		return "", err
	}
	r, err := recipe.Parse(d.Recipe)
	if err != nil {
		return "", err
	}
	p := patching{built: b, files: map[string][]string{}, edits: map[string]map[int]string{}}
	var written []recipe.Term
	var left []string
	for _, t := range r.Terms {
		err := errors.New("no source form that gnvcc could check")
		switch t.Lever {
		case "unroll":
			err = p.unroll(s, t)
		case "maxnreg":
			err = p.cap(s, t.Value)
		}
		if err != nil {
			left = append(left, fmt.Sprintf("%s: %v", t, err))
		} else {
			written = append(written, t)
		}
	}
	if len(written) > 0 && len(written) < len(r.Terms) {
		part := recipe.Recipe{Terms: written}
		over := during("compiling what the diff gives")
		if _, err = x.compiler.Rehearse(context.Background(), b, part, ownVersion()); err != nil {
			left = append(left, fmt.Sprintf("%s: gnvcc would refuse it for all launches: %v", part, err))
			clear(p.edits)
		}
		over()
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# %s: %s\n", policy.ShortName(d.Kernel), d.Recipe)
	if r.HasSecond() && len(p.edits) > 0 {
		out.WriteString(
			"# The recipe is for some launches only; this diff changes the kernel for all of them, which was not measured.\n")
	}
	for _, text := range left {
		fmt.Fprintf(&out, "# not in this diff: %s\n", text)
	}
	for _, file := range slices.Sorted(maps.Keys(p.edits)) {
		now := slices.Clone(p.files[file])
		for n, text := range p.edits[file] {
			now[n-1] = text
		}
		out.Write(diff.Diff(file, []byte(strings.Join(p.files[file], "\n")), file,
			[]byte(strings.Join(now, "\n"))))
	}
	return out.String(), nil
}

// A patching gathers new texts for lines.
type patching struct {
	built record.BuiltKernel
	files map[string][]string
	edits map[string]map[int]string // file, line from 1: what stands there then, perhaps several lines
}

// lines reads a file as it was built; one that was written since is refused.
func (p *patching) lines(file string) ([]string, error) {
	if lines, ok := p.files[file]; ok {
		return lines, nil
	}
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.built.Assembly.Dir, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.ModTime().After(p.built.Assembly.Time) {
		return nil, fmt.Errorf("%s has changed since it was built: build it again", file)
	}
	text, err := os.ReadFile(path)
	if err == nil {
		p.files[file] = strings.Split(string(text), "\n")
	}
	return p.files[file], err
}

func (p *patching) put(file string, line int, text string) {
	if p.edits[file] == nil {
		p.edits[file] = map[int]string{}
	}
	p.edits[file][line] = text
}

var global = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`__global__\s+(?:static\s+|inline\s+)*void\b`)
})

// cap gives the kernel a register cap by __maxnreg__, which nvcc does not take with __launch_bounds__.
func (p *patching) cap(s *compile.Source, registers string) error {
	lines, err := p.lines(s.Code.File)
	if err != nil {
		return err
	}
	if s.Entry != nil {
		if _, bounded := s.Entry.Directive(".maxntid"); bounded {
			return errors.New("nvcc does not take __maxnreg__ with the kernel's __launch_bounds__: lower registers by their second value")
		}
	}
	for n := s.Code.Line; n > 0 && n > s.Code.Line-4 && n <= len(lines); n-- {
		text := lines[n-1]
		if strings.Contains(text, "__maxnreg__") {
			return fmt.Errorf("%s:%d has __maxnreg__ already: change its value", s.Code.File, n)
		}
		if at := global().FindAllStringIndex(text, -1); len(at) == 1 {
			p.put(s.Code.File, n, text[:at[0][1]]+" __maxnreg__("+registers+")"+text[at[0][1]:])
			return nil
		}
	}
	return fmt.Errorf("no line with __global__ void at %s:%d", s.Code.File, s.Code.Line)
}

// unroll puts pragmas before the loops of a term, as rewrite/source does with the preprocessed text.
func (p *patching) unroll(s *compile.Source, t recipe.Term) error {
	var found []func()
	for _, l := range s.Code.Loops {
		lines, err := p.lines(l.File)
		switch {
		case l.Kind != "for" || l.Pragma || l.Site == "" || t.Site != "" && t.Site != l.Site:
			continue
		case err != nil:
			return err
		case l.Line < 1 || l.Line > len(lines) || !strings.HasPrefix(strings.TrimSpace(lines[l.Line-1]), "for"):
			return fmt.Errorf("the loop at %s:%d does not start a line", l.File, l.Line)
		}
		if p.edits[l.File][l.Line] != "" && t.Site == "" {
			continue // the loop has a term of its own
		}
		text := lines[l.Line-1]
		pragma := text[:len(text)-len(strings.TrimLeft(text, " \t"))] + "#pragma unroll"
		if t.Value != "full" {
			pragma += " " + t.Value
		}
		found = append(found, func() { p.put(l.File, l.Line, pragma+"\n"+text) })
	}
	for _, put := range found { // all of them, or none
		put()
	}
	return nil
}
