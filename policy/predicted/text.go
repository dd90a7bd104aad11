package predicted

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gnvcc/sim/predict"
	"gnvcc/sim/xmodel"
)

// A Change is a question that is asked of every kernel's model: what if it were another one?
type Change struct {
	Name     string // "twice the warps"
	From, To xmodel.Model
}

// Changes are these questions. What the caches do can be asked only where accesses were counted.
func Changes(p *predict.Picture) (out []Change) {
	add := func(name string, from xmodel.Model, change func(m *xmodel.Model)) {
		to := from
		change(&to)
		out = append(out, Change{name, from, to})
	}
	m := p.Graph.Model
	less := m // fewer warps leave more of the cache to each
	if p.Cached.Warps > 0 {
		less = p.Cached
	}
	add("twice the warps", m, func(m *xmodel.Model) { m.Warps *= 2 })
	add("half the warps", less, func(m *xmodel.Model) { m.Warps /= 2 })
	add("half the memory traffic", m, func(m *xmodel.Model) { m.Intensity *= 2 })
	add("twice as many independent instructions", m, func(m *xmodel.Model) {
		m.Pace = min(2*m.Pace, 1)
	})
	if c := p.Cached; c.Warps > 0 {
		add("twice the L1 cache", c, func(m *xmodel.Model) { m.Cache *= 2 })
		add("half the warps past the L1 cache", c, func(m *xmodel.Model) { m.Bypass = 0.5 })
	}
	return out
}

// Note is what people should know of one cap, "" for nothing.
func (k *Kernel) Note(r predict.Ranked) string {
	switch same := k.Same[r.Recipe]; {
	case same != nil:
		return "must be measured: " + same.Error()
	case r.Err == nil && !r.Better() && r.By() <= 1:
		return "predicted to be as fast as nvcc's own"
	}
	return ""
}

// Basis says what the X-model of a picture rests on.
func Basis(p *predict.Picture) string {
	if e := &p.Default; e.Counted {
		return fmt.Sprintf(
			"from the counters of one launch: %.1f sectors a warp, of which L1 has %.0f %% and L2 %.0f %%",
			e.Sectors, 100*(1-e.L2/max(e.Sectors, 1e-9)), 100*(e.L2-e.Memory)/max(e.Sectors, 1e-9))
	}
	return "taking all accesses as coalesced and served by no cache, loops as run ten times: " +
		"gnvcc tune counts"
}

// Print writes what is predicted of a kernel. What it rests on is written once for all kernels of
// which it is true: said has what was written already.
func (k *Kernel) Print(w io.Writer, said map[string]bool) error {
	p := &k.Picture
	e := &p.Default
	once := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !said[text] {
			said[text] = true
			fmt.Fprint(w, text)
		}
	}
	assumed := cmp.Or(strings.Join(p.Assumed, ", "), "nothing, its launches are known")
	if len(said) == 0 { // where it is otherwise for a later kernel, that says so
		said[assumed] = true
		fmt.Fprintf(w, "Predicted from machine code, nothing was run. Assumed: %s.\n", assumed)
	}
	once("Rates: %s.\n", p.Units.Source)
	if e.Balance.Rate > 0 && !e.Counted {
		once("Accesses count as coalesced and served by no cache, loops as run ten times: gnvcc tune counts.\n")
	}
	if len(k.Ranked) > 0 {
		once("In tables, \"faster, slower\": share of trials on an H200 with such a prediction that were so by 1 %% or more.\n")
	}
	once("gnvcc tune measures; builds take predictions only after gnvcc predict --adopt, with GNVCC_PREDICT=1.\n")
	fmt.Fprintf(w, "\n%s (%s)\n", k.Kernel.Short, k.Kernel.Target)
	if !said[assumed] {
		fmt.Fprintf(w, "  assumed: %s\n", assumed)
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
	fmt.Fprintf(w, "  registers that ptxas can use: %d to %d; most for each occupancy: %s\n", p.Region.Min,
		p.Region.Max, strings.Join(points, ", "))
	if l := p.Hottest; l.Offset >= 0 {
		fmt.Fprintf(w,
			"  hottest loop, at %#x: %d instructions, %.0f cycles an iteration for one warp alone, %.0f of them waiting; %.0f%% of its time\n",
			l.Offset, l.Insts, l.Cycles, l.Wait, 100*l.Share)
	}
	if e.Balance.Rate > 0 {
		fmt.Fprintf(w,
			"  limited by %s: %.1f of %.0f resident warps wait for memory, %.2f instructions a cycle\n",
			e.Balance.Bound, e.Balance.Waiting, p.Graph.Model.Warps, e.Balance.Rate)
		if e.Counted {
			fmt.Fprintf(w, "  %s\n", Basis(p))
		}
		if k.Uncounted != nil {
			fmt.Fprintf(w, "  the counters are not used: %v\n", k.Uncounted)
		}
		for _, x := range Changes(p) {
			if f, ok := x.From.What(x.To); ok {
				fmt.Fprintf(w, "    with %s: %.2f of the time\n", x.Name, f.Time)
			}
		}
	}
	if len(k.Ranked) == 0 {
		_, err := fmt.Fprintf(w, "  no recipe for registers changes the code\n")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "  recipe\tpredicted time\tby RegDem\twarps\tspill accesses\tfaster, slower\t")
	fmt.Fprintf(t, "  nvcc's own\t1.00\t1.00\t%d\t%.0f\t\t\n", e.Occupancy.Warps, e.Spills)
	for _, r := range k.Ranked {
		if r.Err != nil {
			fmt.Fprintf(t, "  %s\t-\t-\t-\t-\t-\t%s\n", r.Recipe, r.Err)
			continue
		}
		note := k.Note(r)
		fmt.Fprintf(t, "  %s\t%.2f\t%.2f\t%d\t%.0f\t%s\t%s\n", r.Recipe, r.By(), r.Paper,
			r.Estimate.Occupancy.Warps, r.Estimate.Spills, predict.ChanceOf(r.By()), note)
	}
	return t.Flush()
}
