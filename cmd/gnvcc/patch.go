package main

import (
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
// copies for values, ...) is named in front of it.

// printPatches prints the diffs of decisions; those without a recipe have none.
func printPatches(found []cache.Decision) error {
	store, err := openStore()
	if err != nil {
		return err
	}
	c, err := tuner.NewCompiler(store)
	if err != nil {
		return err
	}
	defer c.Close()
	known := record.BuiltBy(store)
	var failed error
	for _, d := range found {
		if d.Recipe == "" {
			fmt.Fprintf(os.Stderr, "gnvcc: %s is best as nvcc builds it\n", policy.ShortName(d.Kernel))
			continue
		}
		text, err := patchOf(c, known, d)
		if err != nil {
			fmt.Fprintf(os.Stderr, "gnvcc explain: %s: no diff: %v\n", policy.ShortName(d.Kernel), err)
			failed = exit(1)
			continue
		}
		fmt.Fprint(told, text)
	}
	return failed
}

// patchOf is a decision's recipe as a diff.
func patchOf(c *tuner.Compiler, known map[string]record.BuiltKernel,
	d cache.Decision) (string, error) {
	b, ok := known[d.Identity]
	if !ok {
		return "", errors.New("this code was not built here")
	}
	s, err := c.Compiler.Built(b.Assembly, b.Name)
	if err != nil {
		return "", err
	}
	if s.Code == nil {
		return "", errors.New(s.NoSource)
	}
	r, err := recipe.Parse(d.Recipe)
	if err != nil {
		return "", err
	}
	p := patching{dir: b.Assembly.Dir, built: b, files: map[string][]string{},
		edits: map[string]map[int]string{}}
	var rest []string
	for _, t := range r.Terms {
		var err error
		switch t.Lever {
		case "unroll":
			continue // below, all together
		case "maxnreg":
			err = p.cap(s, t.Value)
		default:
			err = errors.New("no source form that gnvcc could check")
		}
		if err != nil {
			rest = append(rest, fmt.Sprintf("%s: %v", t, err))
		}
	}
	if err := p.unroll(s, r); err != nil {
		rest = append(rest, "unroll: "+err.Error())
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# %s: %s\n", policy.ShortName(d.Kernel), d.Recipe)
	if r.HasCopy() {
		out.WriteString(
			"# The recipe is for some launches only; this diff changes the kernel for all of them, which was not measured.\n")
	}
	for _, text := range rest {
		fmt.Fprintf(&out, "# not in this diff: %s\n", text)
	}
	for _, file := range slices.Sorted(maps.Keys(p.edits)) {
		out.WriteString(p.diff(file))
	}
	return out.String(), nil
}

// A patching gathers new texts for lines.
type patching struct {
	dir   string
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
		path = filepath.Join(p.dir, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.ModTime().After(p.built.Assembly.Time) {
		return nil, fmt.Errorf("%s has changed since it was built: build it again", file)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p.files[file] = strings.Split(string(text), "\n")
	return p.files[file], nil
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

// cap gives the kernel a register cap.
func (p *patching) cap(s *compile.Source, registers string) error {
	lines, err := p.lines(s.Code.File)
	if err != nil {
		return err
	}
	for n := s.Code.Line; n > 0 && n > s.Code.Line-4 && n <= len(lines); n-- {
		text := lines[n-1]
		at := global().FindAllStringIndex(text, -1)
		if len(at) != 1 {
			continue
		}
		if strings.Contains(strings.Join(lines[n-1:s.Code.Line], " "), "__launch_bounds__") {
			return errors.New("the kernel has __launch_bounds__, which can't be combined with __maxnreg__")
		}
		p.put(s.Code.File, n, text[:at[0][1]]+" __maxnreg__("+registers+")"+text[at[0][1]:])
		return nil
	}
	return fmt.Errorf("no line with __global__ void at %s:%d", s.Code.File, s.Code.Line)
}

// unroll puts pragmas before loops, as rewrite/source does with the preprocessed text.
func (p *patching) unroll(s *compile.Source, r recipe.Recipe) error {
	general, _ := r.Get("unroll", "")
	for _, l := range s.Code.Loops {
		value, named := r.Get("unroll", l.Site)
		if !named || l.Site == "" {
			value = general
		}
		if value == "" || l.Kind != "for" || l.Pragma || l.Site == "" {
			continue
		}
		lines, err := p.lines(l.File)
		if err != nil {
			return err
		}
		if l.Line < 1 || l.Line > len(lines) || !strings.HasPrefix(strings.TrimSpace(lines[l.Line-1]),
			"for") {
			return fmt.Errorf("the loop at %s:%d does not start a line", l.File, l.Line)
		}
		text := lines[l.Line-1]
		pragma := text[:len(text)-len(strings.TrimLeft(text, " \t"))] + "#pragma unroll"
		if value != "full" {
			pragma += " " + value
		}
		p.put(l.File, l.Line, pragma+"\n"+text)
	}
	return nil
}

// diff is in the unified form, three lines around each change.
func (p *patching) diff(file string) string {
	was := strings.Join(p.files[file], "\n")
	lines := slices.Clone(p.files[file])
	for n, text := range p.edits[file] {
		lines[n-1] = text
	}
	return string(diff.Diff(file, []byte(was), file, []byte(strings.Join(lines, "\n"))))
}
