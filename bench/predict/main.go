package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
	"gnvcc/sim/cubin"
	"gnvcc/sim/forest"
	"gnvcc/sim/predict"
)

// A decided is what we need of an entry of `gnvcc report -json`.
type decided struct {
	Decision struct {
		Kernel, Target string
		Evidence       struct {
			Device   string
			Launches []struct {
				Grid, Block [3]int
				Dynamic     int
				Count       int
				Before      struct{ Median float64 }
			}
			Tried []struct {
				Recipe  string
				Ratio   float64
				Refused string
			}
		}
	}
}

// A trial is a candidate that was measured once and is built again now.
type trial struct {
	recipe   string
	ratio    float64 // measured, over the default's
	run      predict.Run
	estimate predict.Estimate
	row      forest.Row
}

// A kernel is one configuration with its trials; the first is the default.
type kernel struct {
	name   string
	device string
	trials []trial
	left   int // trials that can't be built here
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "predict:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	flags := flag.NewFlagSet("predict", flag.ContinueOnError)
	report := flags.String("report", "", "what `gnvcc report -json` printed")
	examples := flags.String("examples", "../../examples", "folder of the programs")
	nvcc := flags.String("nvcc", "nvcc", "of the release that the report was made with")
	grow := flags.String("grow", "", "grow a forest on all rows and write it to this file")
	seed := flags.Uint64("seed", 1, "of the forests")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := os.ReadFile(*report)
	if err != nil {
		return fmt.Errorf("read the report: %w", err)
	}
	var all []decided
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("read the report %s: %w", *report, err)
	}
	dir, err := os.MkdirTemp("", "gnvcc-predict-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := builder{nvcc: *nvcc, dir: dir}
	if err := b.compile(*examples); err != nil {
		return err
	}
	var kernels []kernel
	for _, d := range all {
		k, err := b.kernel(d)
		if err != nil {
			fmt.Fprintf(w, "left out: %s: %v\n", d.Decision.Kernel, err)
			continue
		}
		kernels = append(kernels, k)
	}
	if len(kernels) < 2 {
		return fmt.Errorf("%d kernels of the report could be built again, two are needed", len(kernels))
	}
	if err := tell(w, kernels, *seed); err != nil {
		return err
	}
	if *grow == "" {
		return nil
	}
	return growAll(*grow, kernels, *seed)
}

// A builder compiles programs to PTX once, and candidates from that.
type builder struct {
	nvcc, dir string
	ptx       map[string][]byte // by kernel
	n         int
}

// compile makes the PTX of all programs.
func (b *builder) compile(examples string) error {
	files, err := filepath.Glob(filepath.Join(examples, "*", "*.cu"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no programs in %s", examples)
	}
	b.ptx = map[string][]byte{}
	for n, file := range files {
		out := filepath.Join(b.dir, fmt.Sprintf("%d.ptx", n))
		cmd := exec.Command(b.nvcc, "-arch=sm_90", "-std=c++17", "-I"+filepath.Join(examples, "common"), "-ptx", file, "-o", out)
		if msg, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "predict: %s is left out: %v\n%s", file, err, firstLine(msg))
			continue
		}
		text, err := os.ReadFile(out)
		if err != nil {
			return err
		}
		for _, line := range strings.Split(string(text), "\n") {
			if _, rest, ok := strings.Cut(line, ".entry "); ok {
				name, _, _ := strings.Cut(rest, "(")
				b.ptx[strings.TrimSpace(name)] = text
			}
		}
	}
	return nil
}

func firstLine(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return append(line, '\n')
}

// kernel builds one decision's trials.
func (b *builder) kernel(d decided) (kernel, error) {
	ev := d.Decision.Evidence
	k := kernel{name: d.Decision.Kernel, device: ev.Device}
	ptx, ok := b.ptx[k.name]
	if !ok {
		return k, fmt.Errorf("no program has it")
	}
	if len(ev.Launches) == 0 {
		return k, fmt.Errorf("no launch was recorded")
	}
	heaviest := ev.Launches[0]
	for _, l := range ev.Launches[1:] {
		if float64(l.Count)*l.Before.Median > float64(heaviest.Count)*heaviest.Before.Median {
			heaviest = l
		}
	}
	shape := sim.Shape{Threads: volume(heaviest.Block), Shared: heaviest.Dynamic, Blocks: volume(heaviest.Grid)}
	base, err := b.trial(ptx, k.name, "", shape)
	if err != nil {
		return k, fmt.Errorf("nvcc's own build: %w", err)
	}
	base.ratio = 1
	k.trials = []trial{base}
	for _, t := range ev.Tried {
		if t.Ratio <= 0 {
			continue
		}
		made, err := b.trial(ptx, k.name, t.Recipe, shape)
		if err != nil {
			k.left++
			continue
		}
		made.ratio = t.Ratio
		made.row = forest.Row{Y: math.Log(t.Ratio), Group: k.name,
			X: predict.Vector(base.estimate, made.estimate, base.run.Registers, made.run.Registers, t.Recipe)}
		k.trials = append(k.trials, made)
	}
	if len(k.trials) < 3 {
		return k, fmt.Errorf("only %d of %d trials can be built from PTX", len(k.trials)-1, len(ev.Tried))
	}
	return k, nil
}

func volume(v [3]int) int { return v[0] * v[1] * v[2] }

// trial builds one candidate and predicts it.
func (b *builder) trial(ptx []byte, name, words string, shape sim.Shape) (t trial, err error) {
	if words != "" {
		r, err := recipe.Parse(words)
		if err != nil {
			return t, err
		}
		if rewrite.ExactnessOf(r) != rewrite.ByConstruction {
			return t, fmt.Errorf("%s is not exact by construction in PTX", words)
		}
		out, refused, err := rewrite.Apply(ptx, map[string]recipe.Recipe{name: r})
		if err != nil {
			return t, err
		}
		if refused[name] != nil {
			return t, refused[name]
		}
		if bytes.Equal(out, ptx) {
			return t, fmt.Errorf("%s changes nothing in the PTX", words)
		}
		ptx = out
	}
	b.n++
	in, out := filepath.Join(b.dir, fmt.Sprintf("c%d.ptx", b.n)), filepath.Join(b.dir, fmt.Sprintf("c%d.cubin", b.n))
	defer os.Remove(in)
	defer os.Remove(out)
	if err := os.WriteFile(in, ptx, 0o600); err != nil {
		return t, err
	}
	ptxas := filepath.Join(filepath.Dir(b.nvcc), "ptxas")
	if msg, err := exec.Command(ptxas, "-arch=sm_90", in, "-o", out).CombinedOutput(); err != nil {
		return t, fmt.Errorf("ptxas: %w\n%s", err, firstLine(msg))
	}
	code, err := os.ReadFile(out)
	if err != nil {
		return t, err
	}
	if _, err := cubin.Read(code); err != nil {
		return t, err
	}
	d, _ := sim.Lookup(90)
	u, err := predict.ForArchitecture(90)
	if err != nil {
		return t, err
	}
	t.recipe = words
	if t.run, err = predict.NewRun(code, name, d, shape, u); err != nil {
		return t, err
	}
	t.estimate, err = t.run.Estimate()
	return t, err
}

func growAll(file string, kernels []kernel, seed uint64) error {
	rows := rowsOf(kernels)
	f, err := forest.Grow(predict.Features, rows, forest.Options{Seed: seed})
	if err != nil {
		return err
	}
	f.Device = kernels[0].device
	for _, k := range kernels {
		if k.device != f.Device {
			return fmt.Errorf("trials of two devices, %s and %s: a forest is for one", f.Device, k.device)
		}
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := f.Save(out); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

func rowsOf(kernels []kernel) []forest.Row {
	var rows []forest.Row
	for _, k := range kernels {
		for _, t := range k.trials[1:] {
			rows = append(rows, t.row)
		}
	}
	return rows
}

// A way is a predictor: the time that it foretells for each trial of a kernel, the default's first, in any unit.
type way struct {
	name   string
	margin float64 // a pick must be foretold to gain more than that
	of     func(k kernel) []float64
}

func ways(byKernel map[string][]float64) []way {
	each := func(of func(t trial, most float64) float64) func(k kernel) []float64 {
		return func(k kernel) []float64 {
			most := 0.0
			for _, t := range k.trials {
				most = max(most, t.estimate.Fraction)
			}
			var out []float64
			for _, t := range k.trials {
				out = append(out, of(t, most))
			}
			return out
		}
	}
	forestOf := func(k kernel) []float64 { return append([]float64{1}, byKernel[k.name]...) }
	return []way{
		{"paper (Fig. 5, Eq. 3)", 0, each(func(t trial, most float64) float64 {
			return predict.Time(t.estimate.Paper, t.estimate.Fraction, most, predict.Slowdown)
		})},
		{"naive stalls", 0, each(func(t trial, _ float64) float64 {
			sum := 0.0
			for n := range t.run.Function.Insts {
				sum += float64(t.run.Function.Insts[n].Stall)
			}
			return sum
		})},
		{"ours", 0, each(func(t trial, _ float64) float64 { return t.estimate.Cycles })},
		{"ours, margin 5 %", predict.Margin, each(func(t trial, _ float64) float64 { return t.estimate.Cycles })},
		{"forest (other programs)", 0, forestOf},
		{"forest, margin 5 %", predict.Margin, forestOf},
		{"default", 1, each(func(trial, float64) float64 { return 1 })},
		{"oracle", 0, each(func(t trial, _ float64) float64 { return t.ratio })},
	}
}

// tell prints, for each predictor, what its picks gain of what could be gained, and how well it orders.
func tell(w io.Writer, kernels []kernel, seed uint64) error {
	rows := rowsOf(kernels)
	foretold, err := forest.Validate(predict.Features, rows, forest.Options{Seed: seed}, 0)
	if err != nil {
		return err
	}
	byKernel := map[string][]float64{}
	for n, r := range rows {
		byKernel[r.Group] = append(byKernel[r.Group], math.Exp(foretold[n]))
	}
	trials, left := 0, 0
	for _, k := range kernels {
		trials += len(k.trials) - 1
		left += k.left
	}
	fmt.Fprintf(w, "%d kernels, %d trials exact by construction (%d others left out), one device: %s\n", len(kernels), trials, left,
		kernels[0].device)
	fmt.Fprintf(w, "the forest's error on programs that it has not seen: %.3f (root mean square of log time)\n\n", forest.RMS(rows, foretold))
	fmt.Fprintf(w, "%-26s %10s %10s %12s %14s %16s\n", "picks by", "picks", "gain", "of oracle's", "lose over 1 %", "best third: best")
	oracle := 0.0
	for _, k := range kernels {
		best := 1.0
		for _, t := range k.trials {
			best = min(best, t.ratio)
		}
		oracle -= math.Log(best)
	}
	for _, x := range ways(byKernel) {
		s := score(kernels, x)
		fmt.Fprintf(w, "%-26s %10d %9.1f%% %11.0f%% %14d %15.1f%%\n", x.name, s.picks, 100*(math.Exp(s.gain/float64(len(kernels)))-1),
			100*s.gain/oracle, s.lose, 100*s.third)
	}
	fmt.Fprintln(w)
	for _, k := range kernels {
		line := fmt.Sprintf("%-60s %3d trials", k.name, len(k.trials)-1)
		for _, x := range ways(byKernel) {
			if x.name == "default" || strings.HasSuffix(x.name, "%") {
				continue
			}
			t := k.trials[pick(x.of(k), x.margin)]
			line += fmt.Sprintf("  %s: %.3f (%s)", strings.Fields(x.name)[0], t.ratio, orDefault(t.recipe))
		}
		fmt.Fprintln(w, line)
	}
	return nil
}

func orDefault(s string) string {
	if s == "" {
		return "default"
	}
	return s
}

type result struct {
	picks, lose int
	gain        float64 // sum of log of default's time over the pick's
	third       float64 // geometric mean of best time over the best among the first third
}

// pick is the trial with the least foretold time, or the default where that does not gain the margin.
func pick(times []float64, margin float64) int {
	best := 0
	for n, t := range times {
		if t < times[best] {
			best = n
		}
	}
	if times[best] >= times[0]*(1-margin) {
		return 0
	}
	return best
}

func score(kernels []kernel, x way) result {
	var r result
	for _, k := range kernels {
		times := x.of(k)
		n := pick(times, x.margin)
		if n > 0 {
			r.picks++
		}
		if k.trials[n].ratio > 1.01 {
			r.lose++
		}
		r.gain -= math.Log(k.trials[n].ratio)
		order := make([]int, len(k.trials)-1)
		for i := range order {
			order[i] = i + 1
		}
		sort.SliceStable(order, func(a, b int) bool { return times[order[a]] < times[order[b]] })
		best, early := 1.0, 1.0
		for i, t := range order {
			best = min(best, k.trials[t].ratio)
			if i < (len(order)+2)/3 {
				early = min(early, k.trials[t].ratio)
			}
		}
		r.third += math.Log(best / early)
	}
	r.third = math.Exp(r.third / float64(len(kernels)))
	return r
}
