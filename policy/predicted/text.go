package predicted

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gnvcc/sim/predict"
)

// Header says what predictions of all kernels rest on.
const Header = `Predicted from machine code, nothing was run. Accesses count as coalesced and served by no cache, loops as run ten times.
Rates: ` + predict.Source + `.
X-model: memory's supply against the warps' demand; fed so, it was within 64 % of the instructions a cycle that 33 launches had.
In tables, "faster, slower": how many of the trials on an H200 with such a prediction were so by 1 % or more.
gnvcc tune measures; builds take predictions only after gnvcc predict --adopt, with GNVCC_PREDICT=1.
`

// Note is what people should know of one cap, "" for nothing.
func (k *Kernel) Note(r predict.Ranked) string {
	switch same := k.Same[r.Recipe]; {
	case same != nil:
		if strings.Contains(same.Error(), " has other floating-point instructions") {
			return "must be measured: it has other floating-point instructions"
		}
		return "must be measured: " + same.Error()
	case r.Err == nil && !r.Better() && r.By() <= 1:
		return "predicted to be as fast as nvcc's own"
	}
	return ""
}

// Print writes what is predicted of a kernel.
func (k *Kernel) Print(w io.Writer) error {
	e := &k.Default
	fmt.Fprintf(w, "%s (%s)\n", k.Kernel.Short, k.Kernel.Target)
	var limits, points, causes []string
	for _, l := range k.Limits {
		text := fmt.Sprintf("%s %d", l.Resource, l.Blocks)
		if l.Binds {
			text += " (binds)"
		}
		limits = append(limits, text)
	}
	fmt.Fprintf(w, "  resident blocks by resource: %s\n", strings.Join(limits, ", "))
	for _, l := range k.Levels {
		points = append(points, fmt.Sprintf("%d (%d warps)", l.Max, l.Occupancy.Warps))
	}
	fmt.Fprintf(w, "  registers that ptxas can use: %d to %d; most for each occupancy: %s\n", k.Region.Min,
		k.Region.Max, strings.Join(points, ", "))
	if l := e.Hottest; l.Offset >= 0 {
		fmt.Fprintf(w,
			"  hottest loop, at %#x: %d instructions, %.0f cycles an iteration for one warp alone, %.0f of them waiting; %.0f%% of its time\n",
			l.Offset, l.Insts, l.Cycles, l.Wait, 100*l.Share)
	}
	for _, c := range e.Causes {
		causes = append(causes, fmt.Sprintf("%s %.0f%%", c.Name, 100*c.Share))
	}
	fmt.Fprintf(w, "  predicted time by cause: %s\n", strings.Join(causes, ", "))
	for _, line := range k.Balance.Lines() {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if len(k.Ranked) == 0 {
		_, err := fmt.Fprintf(w, "  no recipe for registers changes the code\n")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "  recipe\tpredicted time\twarps\tspill accesses\tfaster, slower\t")
	fmt.Fprintf(t, "  nvcc's own\t1.00\t%d\t%.0f\t\t\n", e.Occupancy.Warps, e.Spills)
	for _, r := range k.Ranked {
		if r.Err != nil {
			fmt.Fprintf(t, "  %s\t-\t-\t-\t-\t%s\n", r.Recipe, r.Err)
			continue
		}
		fmt.Fprintf(t, "  %s\t%.2f\t%d\t%.0f\t%s\t%s\n", r.Recipe, r.By(), r.Estimate.Occupancy.Warps,
			r.Estimate.Spills, predict.ChanceOf(r.By()), k.Note(r))
	}
	return t.Flush()
}
