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
	"strconv"
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
func printPatches(store *cache.Store, found []cache.Decision) error {
	c, err := tuner.NewCompiler(store)
	if err != nil {
		return err
	}
	defer c.Close()
	known := newestBuilt(store)
	var failed error
	for _, d := range found {
		if d.Recipe == "" {
			fmt.Fprintf(stderr, "gnvcc: %s is best as nvcc builds it\n", policy.ShortName(d.Kernel))
			continue
		}
		text, err := patchOf(c, known, d, rehearsed(c))
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

// patchOf is a decision's recipe as a diff.
func patchOf(c *tuner.Compiler, known map[string]record.BuiltKernel, d cache.Decision,
	possible check) (string, error) {
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
	p, written, left := patch(b, s, r)
	if len(written) > 0 && len(written) < len(r.Terms) {
		// the diff is for other launches than the recipe, or has a part of it: nobody has tried that
		err := possible(b, recipe.Recipe{Terms: written}, r.HasSecond())
		if err != nil {
			left = append(left, fmt.Sprintf("%s: %v", recipe.Recipe{Terms: written}, err))
			p.edits, p.notes = nil, nil
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# %s: %s\n", policy.ShortName(d.Kernel), d.Recipe)
	if r.HasSecond() && len(p.edits) > 0 {
		out.WriteString(
			"# The recipe is for some launches only; this diff changes the kernel for all of them, which was not measured.\n")
	}
	for _, text := range p.notes {
		fmt.Fprintf(&out, "# %s\n", text)
	}
	for _, text := range left {
		fmt.Fprintf(&out, "# not in this diff: %s\n", text)
	}
	for _, file := range slices.Sorted(maps.Keys(p.edits)) {
		out.WriteString(p.diff(file))
	}
	return out.String(), nil
}

// A check says why a build would not take a recipe that a diff comes to, nil where it would. With
// copies it is for more launches than the decision's.
type check func(b record.BuiltKernel, r recipe.Recipe, copies bool) error

// rehearsed compiles, as gnvcc pin would.
func rehearsed(c *tuner.Compiler) check {
	return func(b record.BuiltKernel, r recipe.Recipe, _ bool) error {
		over := during("compiling what the diff gives")
		defer over()
		if _, err := c.Rehearse(context.Background(), b, r, ownVersion()); err != nil {
			return fmt.Errorf("gnvcc would refuse it for all launches: %w", err)
		}
		return nil
	}
}

// unrehearsed is for pages of many kernels, for which nothing is compiled.
func unrehearsed(_ record.BuiltKernel, _ recipe.Recipe, copies bool) error {
	if !copies {
		return nil
	}
	return errors.New(
		"it is for some launches only: gnvcc explain KERNEL --patch tries whether all can have it")
}

// patch writes the terms of a recipe that have a form in the source; left says why others have not.
func patch(b record.BuiltKernel, s *compile.Source, r recipe.Recipe) (p patching,
	written []recipe.Term, left []string) {
	p = patching{dir: b.Assembly.Dir, built: b, files: map[string][]string{},
		edits: map[string]map[int]string{}}
	var unrolls []recipe.Term
	for _, t := range r.Terms {
		var err error
		switch t.Lever {
		case "unroll":
			unrolls = append(unrolls, t)
			continue // below, all together
		case "maxnreg":
			err = p.cap(s, t.Value)
		default:
			err = errors.New("no source form that gnvcc could check")
		}
		if err != nil {
			left = append(left, fmt.Sprintf("%s: %v", t, err))
		} else {
			written = append(written, t)
		}
	}
	if err := p.unroll(s, r); err != nil {
		left = append(left, "unroll: "+err.Error())
	} else {
		written = append(written, unrolls...)
	}
	return p, written, left
}

// A patching gathers new texts for lines.
type patching struct {
	dir   string
	built record.BuiltKernel
	files map[string][]string
	notes []string                  // what is to be known of the edits
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

// cap gives the kernel a register cap: by __maxnreg__, or, where it has __launch_bounds__, with
// which nvcc does not take that, by its second value.
func (p *patching) cap(s *compile.Source, registers string) error {
	lines, err := p.lines(s.Code.File)
	if err != nil {
		return err
	}
	bounded := s.Entry != nil && func() bool { _, ok := s.Entry.Directive(".maxntid"); return ok }()
	for n := s.Code.Line; n > 0 && n > s.Code.Line-4 && n <= len(lines); n-- {
		text := lines[n-1]
		if at := launchBounds().FindAllStringSubmatchIndex(text, -1); len(at) == 1 {
			second, err := blocksFor(registers, s.MaxThreads)
			if err != nil {
				return err
			}
			first := strings.TrimSpace(text[at[0][2]:at[0][3]])
			p.notes = append(p.notes, fmt.Sprintf(
				"__launch_bounds__ limits registers to %s as the recipe does, but ptxas may arrange its code otherwise than what was measured",
				registers))
			p.put(s.Code.File, n, text[:at[0][0]]+"__launch_bounds__("+first+", "+second+")"+text[at[0][1]:])
			return nil
		}
		if strings.Contains(text, "__maxnreg__") {
			return fmt.Errorf("%s:%d has __maxnreg__ already: change its value", s.Code.File, n)
		}
		at := global().FindAllStringIndex(text, -1)
		if len(at) != 1 || bounded {
			continue
		}
		p.put(s.Code.File, n, text[:at[0][1]]+" __maxnreg__("+registers+")"+text[at[0][1]:])
		return nil
	}
	what := "__global__ void"
	if bounded {
		what = "__launch_bounds__(...) of one or two values, which can't be combined with __maxnreg__,"
	}
	return fmt.Errorf("no line with %s at %s:%d", what, s.Code.File, s.Code.Line)
}

// launchBounds finds one or two values, without parentheses in them but for one pair.
var launchBounds = sync.OnceValue(func() *regexp.Regexp {
	const value = `((?:[^(),]|\([^()]*\))+)`
	return regexp.MustCompile(`__launch_bounds__\s*\(` + value + `(?:,` + value + `)?\)`)
})

// blocksFor gives the second value of __launch_bounds__ with which ptxas takes so many registers at
// most. A multiprocessor has four parts with 16384 registers each, a warp gets registers in units
// of eight a thread, and the warps of the blocks that are to be resident are dealt out evenly
// (measured with 11.8 and 13.0, sm_80: blocks of 32 to 1024 threads, 1 to 20 of them).
func blocksFor(registers string, block int) (string, error) {
	want, err := strconv.Atoi(registers)
	if err != nil {
		return "", err
	}
	warps := (block + 31) / 32
	var near []string // the registers around it that there are
	for blocks := 1; blocks*warps <= 64; blocks++ {
		has := min(512/((blocks*warps+3)/4)/8*8, 255)
		switch {
		case has == want || has == 255 && want >= 248:
			return strconv.Itoa(blocks), nil
		case has > want:
			near = []string{strconv.Itoa(has)}
		case len(near) == 0 || near[0] != strconv.Itoa(has):
			near = append(near, strconv.Itoa(has))
			blocks = 64 // it only gets less
		}
	}
	return "", fmt.Errorf(
		"the kernel has __launch_bounds__(%d), which can't be combined with __maxnreg__, and whose second value gives %s registers, not %d",
		block, strings.Join(near, " or "), want)
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
