package foretell

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gnvcc/sim/xmodel"
)

// A Change is a question that is asked of every kernel's model.
type Change struct {
	Name string // "twice the warps"
	xmodel.Change
}

// Changes are these questions.
func Changes(m xmodel.Model) []Change {
	return []Change{
		{"twice the warps", xmodel.Change{Warps: 2 * m.Warps}},
		{"half the warps", xmodel.Change{Warps: m.Warps / 2}},
		{"half the memory traffic", xmodel.Change{Intensity: 2 * m.Intensity}},
	}
}

// Print writes what is foretold of a kernel.
func (k *Kernel) Print(w io.Writer) error {
	p := &k.Picture
	e := &p.Default
	fmt.Fprintf(w, "%s (%s): foretold from machine code, nothing was run\n", k.Kernel.Short,
		k.Kernel.Target)
	fmt.Fprintf(w, "  rates: %s\n", p.Units.Source)
	if len(p.Assumed) > 0 {
		fmt.Fprintf(w, "  assumed: %s\n", strings.Join(p.Assumed, ", "))
	}
	var limits []string
	for _, l := range p.Limits {
		text := fmt.Sprintf("%s %d", l.Resource, l.Blocks)
		if l.Binds {
			text += " (binds)"
		}
		limits = append(limits, text)
	}
	fmt.Fprintf(w, "  resident blocks by resource: %s\n", strings.Join(limits, ", "))
	var points []string
	for _, l := range p.Levels {
		points = append(points, fmt.Sprintf("%d (%d warps)", l.Max, l.Occupancy.Warps))
	}
	fmt.Fprintf(w, "  register effective region: %d to %d; critical points %s\n", p.Region.Min,
		p.Region.Max, strings.Join(points, ", "))
	if l := p.Hottest; l.Offset >= 0 {
		fmt.Fprintf(w,
			"  hottest loop, at %#x: %d instructions, %.0f cycles a round for one warp alone, %.0f of them waiting; %.0f%% of its time\n",
			l.Offset, l.Insts, l.Cycles, l.Wait, 100*l.Share)
	}
	if e.Balance.Rate > 0 {
		fmt.Fprintf(w,
			"  of %.0f warps %.1f wait for memory; bound by %s, at %.2f instructions a cycle, taking all accesses as coalesced and served by no cache\n", p.Graph.Model.Warps,
			e.Balance.Waiting, e.Balance.Bound, e.Balance.Rate)
		for _, x := range Changes(p.Graph.Model) {
			if f, ok := p.Graph.Model.What(x.Change); ok {
				fmt.Fprintf(w, "    with %s: %.2f of the time\n", x.Name, f.Time)
			}
		}
	}
	if len(k.Ranked) == 0 {
		_, err := fmt.Fprintf(w, "  no register cap gives another build\n")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "  recipe\tforetold time\tRegDem's\twarps\tspill accesses\t")
	fmt.Fprintf(t, "  nvcc's own\t1.00\t1.00\t%d\t%.0f\t\n", e.Occupancy.Warps, e.Spills)
	for _, r := range k.Ranked {
		if r.Err != nil {
			fmt.Fprintf(t, "  %s\t-\t-\t-\t-\t%s\n", r.Recipe, r.Err)
			continue
		}
		note := ""
		if err := k.Same[r.Recipe]; err != nil {
			note = "must be measured: " + err.Error()
		}
		fmt.Fprintf(t, "  %s\t%.2f\t%.2f\t%d\t%.0f\t%s\n", r.Recipe, r.Time, r.Paper,
			r.Estimate.Occupancy.Warps, r.Estimate.Spills, note)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w,
		"  gnvcc tune measures; no build takes what is foretold unless it is told to (gnvcc predict --adopt)")
	return err
}
