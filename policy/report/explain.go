package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// One kernel in full: what was decided, on which launches it rests, what each lever would give
// alone, and why the others were refused.

// Explain writes all that is known of a kernel.
func Explain(w io.Writer, e Entry) {
	d, p := e.Decision, &printer{w: w}
	p.line("%s", e.Kernel)
	if e.Kernel != d.Kernel {
		p.line("  mangled     %s", d.Kernel)
	}
	if place := e.place.String(); place != "" {
		p.line("  built in    %s", place)
	}
	if d.Evidence.Device == "" {
		p.line("  target      %s", d.Target)
	} else {
		p.line("  target      %s, on %s, driver %s", d.Target, d.Evidence.Device, cmp.Or(d.Evidence.Driver, "unknown"))
	}
	p.line("  decided     %s, by gnvcc %s", d.Time.Format("2006-01-02 15:04"), cmp.Or(d.Evidence.Version,
		"of an unknown version"))
	if d.From != "" {
		p.line("  from        the shared store %s", d.From)
	}
	if e.Recipe == "" {
		p.line("  recipe      none: as nvcc builds it")
	} else {
		p.line("  recipe      %s", e.Recipe)
		p.line("  meaning     %s", e.Words)
		if r, err := recipe.Parse(e.Recipe); err == nil {
			if why := reshaped(d, r); why != "" {
				p.line("  shape       %s", why)
			}
			p.inSource(e, r)
		}
		p.line("  results     %s", CheckedText(e))
		switch of := e.Decision.Evidence.Program; {
		case e.Decision.Proposed():
			p.line("  program     proposed: not compared there yet (gnvcc tune --confirm -- ./app)")
		case of != nil && of.TakenBack == "":
			p.line("  program     promised %.2f, %.2f there, over all launches", of.Promised, of.Gain)
		}
		if e.Untaken != "" {
			p.line("  not built   %s", e.Untaken)
		}
	}
	if d.Approximate() && len(d.For) > 0 {
		p.line("  for         builds of %s", strings.Join(d.For, " "))
	}
	if d.Imported != "" {
		p.line("  imported    from %s: measured elsewhere", d.Imported)
	}
	if d.Evidence.Note != "" && !d.Pinned { // results says it
		p.line("  note        %s", d.Evidence.Note)
	}
	if len(d.Evidence.Outvoted) > 0 {
		p.line("  overrides   %s", outvoted(e))
	}
	p.line("  default     %s", build(d.Evidence.Default))
	if e.Recipe != "" {
		p.line("  tuned       %s", build(d.Evidence.Chosen))
	}
	p.launches(w, d)
	if e.L1 != nil {
		p.line("")
		p.paragraph("  L1 (Li's thesis, 5.3): ", "    ", e.L1.String())
	}
	p.levels(e)
	p.single(w, e)
	p.tried(e)
}

// launches is the table of those that a decision rests on.
func (p *printer) launches(w io.Writer, d *cache.Decision) {
	if len(d.Evidence.Launches) == 0 {
		return
	}
	p.line("")
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t,
		"  grid x block\tlaunches\tbefore\tafter\tspeed-up\tchecked\tconstant arguments")
	for _, l := range d.Evidence.Launches {
		up := "-"
		if l.After.Median > 0 {
			up = fmt.Sprintf("%.2fx", l.Before.Median/l.After.Median)
		}
		fmt.Fprintf(t, "  %s\t%d\t%s\t%s\t%s\t%d\t%s\n", policy.ShapeMeasured(l), l.Count, interval(l.Before),
			interval(l.After), up, l.Checked, cmp.Or(Values(l.Values), "-"))
	}
	if err := t.Flush(); err != nil && p.err == nil {
		p.err = err
	}
}

// inSource says how terms would be written in the source, for who wants them without gnvcc, and where.
func (p *printer) inSource(e Entry, r recipe.Recipe) {
	for _, t := range r.Terms {
		l := lever.Named(t.Lever)
		if l == nil || l.Source == nil || e.site == nil || e.site(t) == "" {
			continue
		}
		text := l.Source(t)
		if r.HasSecond() {
			text += " (there for all launches, which was not measured)"
		}
		p.line("  in source   %s: %s", e.site(t), text)
	}
}

// levels draws the occupancy levels at the launch that takes most time, as the recipe has it done.
func (p *printer) levels(e Entry) {
	dev, known := deviceOf(e.Decision.Target)
	heaviest, ok := e.Decision.Evidence.Heaviest()
	if !known || !ok {
		return
	}
	if r, err := recipe.Parse(e.Recipe); err == nil {
		heaviest = Launched(r, heaviest)
	}
	s := policy.ShapeMeasured(heaviest)
	ev := e.Decision.Evidence
	region := sim.Region{Min: lever.LowestCap, Max: max(ev.Default.Registers, ev.Chosen.Registers,
		lever.LowestCap)}
	for _, t := range ev.Tried { // the largest count that any candidate took
		region.Max = max(region.Max, t.Build.Registers)
	}
	p.line("")
	p.line("%s", strings.TrimRight(sim.Plot{Device: dev, Shape: s.Sim(ev.Default),
		Region: region, Default: ev.Default.Registers, Chosen: ev.Chosen.Registers}.String(), "\n"))
}

// tried prints the candidates, fastest first.
func (p *printer) tried(e Entry) {
	all := e.Decision.Evidence.Tried
	if len(all) == 0 {
		return
	}
	p.line("")
	p.line("  tried at %s:", e.Kernel)
	for _, t := range all {
		up := "not measured"
		if t.Ratio > 0 {
			up = fmt.Sprintf("%.3fx", 1/t.Ratio)
		}
		mark := " "
		if t.Recipe == e.Recipe {
			mark = "*"
		}
		p.line("  %s %-12s  %s, %d registers%s%s", mark, up, t.Recipe, t.Build.Registers, spills(t.Build),
			e.because(t))
	}
}

// outvoted names the source's hints that a recipe does not keep, and what that gains: the time
// that it is compared with is that of the kernel with all of them.
func outvoted(e Entry) string {
	text := "your " + strings.Join(e.Decision.Evidence.Outvoted, ", your ")
	if e.Ratio > 0 && len(e.Decision.Evidence.Launches) > 0 {
		text += fmt.Sprintf(": %.2fx with the recipe (tune --keep-directives keeps it)", e.SpeedUp)
	}
	return text
}

func (e Entry) because(t cache.Trial) string {
	switch {
	case t.Because == cache.SameCode:
		return ": " + t.Refused
	case t.Refused != "":
		return ": refused: " + e.Refusal(t)
	case t.Open != "":
		return ": open: " + t.Open
	}
	return ""
}

func build(b cache.Build) string {
	return fmt.Sprintf("%d registers, %d bytes spilled, %d bytes of stack, %d bytes of shared memory",
		b.Registers, b.Spill, b.Stack, b.Shared)
}

func interval(t cache.Time) string {
	if t.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%s %s%.2f%% (n = %d)", Duration(t.Median), PlusMinus, 100*spread(t), t.N)
}

// Values lists values by their names, "" for none.
func Values(v map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		words = append(words, name+" = "+v[name])
	}
	return strings.Join(words, ", ")
}
