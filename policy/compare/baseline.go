// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite/ptx"
)

// A baseline is what nvcc's own machine code says of the kernels of a folder, as a text file for
// git: a change that adds a spill is a line of a diff, and a red check.

// A Baseline has the kernels by what they are.
type Baseline struct {
	Built   string // what built them: "CUDA 13.0.88"
	Kernels map[Which]Figures
}

// Which is a kernel of a baseline. One that is built several times (for two programs, say) counts
// once, with the largest of each figure.
type Which struct {
	Target string // sm_90
	Source string // relative to the baseline's folder; - where none is known
	Kernel string // with its parameters, as people write it
}

// Figures are a kernel's; bytes but for registers and instructions.
type Figures struct{ Registers, Spills, Stack, Shared, Instructions int }

// baselineHead is the first line of a file. The number rises when old files can't be read any more.
const baselineHead = "# gnvcc baseline 1: nvcc's own code, by kernel; gnvcc compare --baseline FILE --update writes it"

const builtBy = "# built by "

// Base builds the kernels once, as they were recorded and without recipes, and reads their machine
// code. Sources are named relative to the folder. A build that fails is an error: its kernels would
// be missing without a word; one whose source was removed since has none.
func Base(ctx context.Context, a Ask, folder string) (*Baseline, error) {
	a.single, a.All = true, true
	p, err := Build(ctx, a)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	for _, f := range p.Failed {
		if !f.gone {
			return nil, fmt.Errorf("%s: %s", f.Command, f.Why)
		}
	}
	b := &Baseline{p.Before, map[Which]Figures{}}
	for _, k := range p.Kernels {
		c := k.before.code()
		w := Which{k.Target, "-", ptx.Signature(k.Name)}
		if rel, err := filepath.Rel(folder, k.Source); err == nil && k.Source != "" {
			w.Source = filepath.ToSlash(rel)
		}
		b.Kernels[w] = b.Kernels[w].largest(Figures{c.Registers, c.Spill, c.Stack, c.Shared, c.Instructions})
	}
	if len(b.Kernels) == 0 {
		return nil, errors.New("there is no kernel in what was built here")
	}
	return b, nil
}

func (f Figures) largest(g Figures) Figures {
	return Figures{max(f.Registers, g.Registers), max(f.Spills, g.Spills), max(f.Stack, g.Stack),
		max(f.Shared, g.Shared), max(f.Instructions, g.Instructions)}
}

// baselineRow has a kernel's name last, and its source before it, which may hold blanks: a tab ends it.
const baselineRow = "%s %d %d %d %d %d\t%s\t%s\n"

// Text is the file: sorted, so that a diff has what changed and nothing else.
func (b *Baseline) Text() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n%s%s\n# target registers spills stack shared instructions source kernel\n",
		baselineHead, builtBy, b.Built)
	for _, w := range b.sorted() {
		f := b.Kernels[w]
		fmt.Fprintf(&out, baselineRow, w.Target, f.Registers, f.Spills, f.Stack, f.Shared, f.Instructions,
			w.Source, w.Kernel)
	}
	return out.Bytes()
}

func (b *Baseline) sorted() []Which {
	return slices.SortedFunc(maps.Keys(b.Kernels), func(x, y Which) int {
		return slices.Compare([]string{x.Source, x.Kernel, x.Target}, []string{y.Source, y.Kernel, y.Target})
	})
}

// ReadBaseline reads a file's text.
func ReadBaseline(text []byte) (*Baseline, error) {
	b := &Baseline{Kernels: map[Which]Figures{}}
	head, _, _ := strings.Cut(baselineHead, ":")
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSuffix(in.Text(), "\r")
		switch {
		case n == 1 && !strings.HasPrefix(line, head+":"):
			return nil, fmt.Errorf("it does not begin with %q: no baseline, or one of another version", head)
		case strings.HasPrefix(line, builtBy):
			b.Built = line[len(builtBy):]
		case line == "" || line[0] == '#':
		default:
			var w Which
			var f Figures
			columns := strings.Split(line, "\t")
			if len(columns) != 3 {
				return nil, fmt.Errorf("line %d: three columns are expected between tabs", n)
			}
			if _, err := fmt.Sscanf(columns[0], "%s %d %d %d %d %d", &w.Target, &f.Registers, &f.Spills, &f.Stack,
				&f.Shared, &f.Instructions); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			w.Source, w.Kernel = columns[1], columns[2]
			b.Kernels[w] = f
		}
	}
	return b, in.Err()
}

// A Drift is what became of a baseline.
type Drift struct {
	Compared, Worse int
	text            bytes.Buffer
}

// Against compares what is built now with an earlier baseline. A kernel is worse with more bytes of
// spills or stack, or with registers or instructions that are more by over so many percent.
func (b *Baseline) Against(old *Baseline, percent float64) *Drift {
	d := &Drift{}
	if old.Built != b.Built {
		fmt.Fprintf(&d.text, "note: the baseline is of %s, and this is %s\n", old.Built, b.Built)
	}
	for _, w := range b.sorted() {
		is := b.Kernels[w]
		was, ok := old.Kernels[w]
		if !ok {
			d.say("new", w, is.changes(is))
			continue
		}
		d.Compared++
		switch {
		case is.worse(was, percent):
			d.Worse++
			d.say("worse", w, is.changes(was))
		case is != was:
			d.say("changed", w, is.changes(was))
		}
	}
	for _, w := range old.sorted() {
		if _, ok := b.Kernels[w]; !ok {
			d.say("vanished", w, "")
		}
	}
	fmt.Fprintf(&d.text, "%s compared, %d worse\n", policy.Count(d.Compared, "kernel"), d.Worse)
	return d
}

// worse reports whether figures are worse than earlier ones. Instructions are 0 where code could not
// be decoded: then they say nothing.
func (f Figures) worse(was Figures, percent float64) bool {
	over := func(is, was int) bool { return was > 0 && float64(is) > float64(was)*(1+percent/100) }
	return f.Spills > was.Spills || f.Stack > was.Stack || over(f.Registers, was.Registers) ||
		over(f.Instructions, was.Instructions)
}

// changes are the figures that differ; all of a new kernel's that are not 0.
func (f Figures) changes(was Figures) string {
	var out []string
	for _, x := range []struct {
		name    string
		was, is int
	}{{"registers", was.Registers, f.Registers}, {"spills", was.Spills, f.Spills},
		{"stack", was.Stack, f.Stack}, {"shared", was.Shared, f.Shared},
		{"instructions", was.Instructions, f.Instructions}} {
		switch {
		case x.was != x.is:
			out = append(out, fmt.Sprintf("%s %d->%d", x.name, x.was, x.is))
		case f == was && x.is != 0:
			out = append(out, fmt.Sprintf("%s %d", x.name, x.is))
		}
	}
	return ": " + strings.Join(out, ", ")
}

func (d *Drift) say(verdict string, w Which, changes string) {
	fmt.Fprintf(&d.text, "%-8s %s (%s, %s)%s\n", verdict, w.Kernel, w.Source, w.Target, changes)
}

// Print writes it as text.
func (d *Drift) Print(w io.Writer) error {
	_, err := w.Write(d.text.Bytes())
	return err
}
