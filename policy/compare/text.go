// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"gnvcc/policy"
)

// A comparison as people read it: what lost stands first in each part, the heaviest before others;
// what is the same code is counted, not listed.

// Print writes it as text, in lines of 80 columns where names allow it.
func (p *Pair) Print(w io.Writer) error {
	out := &lines{}
	out.line("%s -> %s", p.Before, p.After)
	out.line("%s", p.summary())
	if rows := p.rows(); len(rows) > 0 {
		out.line("")
		out.line("%s", strings.TrimRight(fmt.Sprintf(textRow, "kernel", "registers", "spilled",
			"instructions", "occupancy", "time"), " "))
		for _, k := range rows {
			c, name := k.cells(), k.Kernel
			if len([]rune(name)) > nameWidth {
				out.line("%s", name)
				name = ""
			}
			out.line("%s", strings.TrimRight(fmt.Sprintf(textRow, name, c.Registers,
				c.Spilled, c.Instructions, c.Occupancy, c.Time), " "))
			for _, text := range k.notes() {
				out.line("    %s", text)
			}
		}
	}
	for _, f := range p.Failed {
		out.line("")
		out.line("%s: %s", f.title(p), f.Command)
		out.line("    %s", f.Why)
		if !f.Before && len(f.Kernels) > 0 {
			out.line("    its kernels: %s", strings.Join(f.Kernels, ", "))
		}
	}
	if text := p.legend(); text != "" {
		out.line("")
		out.line("%s", text)
	}
	_, err := w.Write(out.Bytes())
	return err
}

const (
	nameWidth = 20
	textRow   = "%-20s %10s %10s %14s %11s %10s"
)

// rows are the kernels that are listed: what lost, then the others whose code differs.
func (p *Pair) rows() (out []*Kernel) {
	for _, first := range []bool{true, false} {
		for _, k := range p.Kernels {
			if k.Verdict != same && lost(k.Verdict) == first {
				out = append(out, k)
			}
		}
	}
	return out
}

// summary counts the verdicts.
func (p *Pair) summary() string {
	n := map[string]int{}
	for _, k := range p.Kernels {
		n[k.Verdict]++
	}
	parts := []string{policy.Count(len(p.Kernels), "kernel") + " in both"}
	for _, v := range []struct{ verdict, text string }{
		{fails, "%d can't be built or launched as before"}, {slower, "%d slower"},
		{faster, "%d faster"}, {alike, "%d as fast"}, {other, "%d of other code, not run"},
		{same, "%d the same code"}} {
		if n[v.verdict] > 0 {
			parts = append(parts, fmt.Sprintf(v.text, n[v.verdict]))
		}
	}
	later := 0
	for _, f := range p.Failed {
		if !f.Before {
			later++
		}
	}
	if later > 0 {
		parts = append(parts, policy.Count(later, "command")+
			map[bool]string{true: " no longer compiles", false: " no longer compile"}[later == 1])
	}
	return parts[0] + ": " + strings.Join(parts[1:], ", ")
}

// legend says what the figures are.
func (p *Pair) legend() string {
	var parts []string
	measured, assumed := false, false
	for _, k := range p.rows() {
		measured = measured || k.Ratio > 0
		assumed = assumed || k.Assumed != ""
	}
	if measured {
		parts = append(parts, "time: measured, later over earlier, on captured launches.")
	}
	if assumed {
		parts = append(parts, "Kernels of which no launch was seen are taken to run in blocks of 256.")
	}
	return strings.Join(parts, " ")
}

// cells are the figures of a kernel, as text.
type cells struct{ Registers, Spilled, Instructions, Occupancy, Time string }

func (k *Kernel) cells() (c cells) {
	arrow := func(a, b int) string {
		if k.Gone || a == b {
			return fmt.Sprint(a)
		}
		return fmt.Sprintf("%d->%d", a, b)
	}
	c = cells{Registers: arrow(k.Before.Registers, k.After.Registers),
		Spilled: arrow(k.Before.Spill, k.After.Spill)}
	if k.Before.Instructions > 0 { // else that GPU's machine code can't be read
		c.Instructions = arrow(k.Before.Instructions, k.After.Instructions)
	}
	if len(k.Launches) > 0 {
		l := k.Launches[0]
		c.Occupancy = fmt.Sprintf("%.0f%%", 100*l.Before.Part)
		if after := fmt.Sprintf("%.0f%%", 100*l.After.Part); !k.Gone && after != c.Occupancy {
			c.Occupancy += "->" + after
		}
	}
	if k.Ratio > 0 {
		c.Time = fmt.Sprintf("%.3f", k.Ratio)
	}
	return c
}

// notes are what else is to be said of a kernel, a line each.
func (k *Kernel) notes() (out []string) {
	if k.Why != "" {
		out = append(out, k.Verdict+": "+k.Why)
	}
	if k.Narrower != "" {
		out = append(out, k.Narrower)
	}
	for _, l := range k.Launches {
		m := l.Measured
		if m == nil {
			continue
		}
		text := fmt.Sprintf("%s: %.3f", l.Shape(), m.Ratio)
		if m.High > 0 {
			text += fmt.Sprintf(" (%.3f to %.3f)", m.Low, m.High)
		}
		switch {
		case m.Slower:
			text += ", slower"
		case m.Faster:
			text += ", faster"
		}
		out = append(out, text)
		switch {
		case m.Bits == otherBits && m.Error > 0:
			out = append(out, fmt.Sprintf("    different bits: %s; relative error up to %.3g", m.Where, m.Error))
		case m.Bits == otherBits:
			out = append(out, "    different bits: "+m.Where)
		case m.Bits == unsteady:
			out = append(out, "    its results differ from run to run in the earlier build, too")
		}
	}
	why := map[string]bool{}
	for _, l := range k.Launches {
		if l.Unrun != "" && !why[l.Unrun] {
			why[l.Unrun] = true
			out = append(out, "not run: "+l.Unrun)
		}
	}
	return out
}

func (f Failure) title(p *Pair) string {
	if f.Before {
		return "does not build as it was (" + p.Before + ")"
	}
	return "no longer compiles (" + p.After + ")"
}

// lines is a text that is written line by line.
type lines struct{ bytes.Buffer }

func (l *lines) line(format string, args ...any) { fmt.Fprintf(l, format+"\n", args...) }
