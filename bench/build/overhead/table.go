package overhead

import (
	"fmt"
	"io"

	"gnvcc/bench/lab"
)

// A ratio is that of two ways of building, with its interval of 95 %.
type ratio struct{ middle, low, high float64 }

func (r ratio) String() string { return fmt.Sprintf("%.3f (%.3f-%.3f)", r.middle, r.low, r.high) }

// against compares ways with nvcc's: of each program the median of its rounds' ratios, of programs
// the geometric mean. a and base are lists of rounds, by program.
func against(a, base [][]float64) ratio {
	ratios := make([][]float64, len(a))
	for i := range a {
		ratios[i] = lab.Ratios(a[i], base[i])
	}
	var r ratio
	r.middle = lab.MeanOfMedians(ratios)
	r.low, r.high = lab.Interval(ratios, lab.MeanOfMedians)
	return r
}

// table prints one line a program and way, and one a way for all programs.
func table(out io.Writer, programs []Program) {
	fmt.Fprintf(out, "\n%-24s %-16s %9s %9s   %-19s   %-19s %7s %7s\n", "program", "build", "s", "CPU s",
		"time against nvcc's", "CPU time", "more ms", "CPU ms")
	var names []string
	wall, cpu := map[string][][]float64{}, map[string][][]float64{}
	for _, p := range programs {
		if p.Failed != "" {
			fmt.Fprintf(out, "%-24s %s\n", p.Name, p.Failed)
			continue
		}
		for _, w := range p.Ways {
			name := w.String()
			if _, ok := wall[name]; !ok {
				names = append(names, name)
			}
			wall[name], cpu[name] = append(wall[name], w.Wall), append(cpu[name], w.CPU)
			line(out, p.Name, name, w, p.Ways[0])
		}
	}
	for _, name := range names[min(1, len(names)):] {
		fmt.Fprintf(out, "%-24s %-16s %9s %9s   %s   %s\n", "all", name, "", "",
			against(wall[name], wall[names[0]]), against(cpu[name], cpu[names[0]]))
	}
	fmt.Fprintln(out, "medians of rounds, in random order; ratios round by round, with intervals of 95 %;"+
		" all: geometric means;\nknown: the store knows this compile; unit: it knows the toolkit alone;"+
		" first: it is empty; CPU: user and system, all children")
}

func line(out io.Writer, program, name string, w, nvcc Way) {
	fmt.Fprintf(out, "%-24s %-16s %9.3f %9.3f", program, name, lab.Median(w.Wall),
		lab.Median(w.CPU))
	if w.Compiler != nvcc.Compiler {
		fmt.Fprintf(out, "   %s   %s %7.1f %7.1f",
			against([][]float64{w.Wall}, [][]float64{nvcc.Wall}),
			against([][]float64{w.CPU}, [][]float64{nvcc.CPU}),
			1e3*lab.Median(lab.Differences(w.Wall, nvcc.Wall)),
			1e3*lab.Median(lab.Differences(w.CPU, nvcc.CPU)))
	}
	fmt.Fprintln(out)
}
