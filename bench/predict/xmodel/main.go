package xmodel

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gnvcc/bench/lab"
	"gnvcc/bench/predict/rebuilt"
)

// Run is the command.
func Run(ctx context.Context, args []string) error {
	w := os.Stdout
	flags := flag.NewFlagSet("xmodel", flag.ContinueOnError)
	reports := flags.String("reports", "",
		"folder of reports: PROGRAM.json is what `gnvcc report --json` printed")
	stores := flags.String("stores", "",
		"folder of stores: PROGRAM, the same code built again by gnvcc")
	machine := flags.String("machine", "", "what profile/units' program printed on the GPU")
	least := flags.Float64("least", 20, "leave out kernels whose launch takes less, microseconds")
	rows := flags.String("rows", "", "write one line a kernel")
	if err := flags.Parse(args); err != nil {
		return err
	}
	m, err := rebuilt.Machine(*machine)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(*reports, "*.json"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no reports in %q", *reports)
	}
	b := builder{machine: m, least: *least * 1e3}
	var all []row
	for _, file := range files {
		program := strings.TrimSuffix(filepath.Base(file), ".json")
		list, err := b.program(ctx, program, file, filepath.Join(*stores, program), w)
		if err != nil {
			fmt.Fprintf(w, "left out: %s: %v\n", program, err)
		}
		all = append(all, list...)
	}
	if err := lab.WriteLines(*rows, all); err != nil {
		return err
	}
	return tell(w, all)
}

// tell prints the table, and the mean accuracy: 1 less the error as a part of what was measured,
// never below 0.
func tell(w io.Writer, all []row) error {
	if len(all) == 0 {
		return fmt.Errorf("no kernel was counted")
	}
	fmt.Fprintf(w, "%-40s %8s %6s %6s %6s %6s %7s %7s %7s %8s %9s %9s %9s  %s\n", "kernel", "us",
		"warps", "Z", "E", "M", "L", "R", "waiting", "counted", "predicted", "measured", "accuracy",
		"bound by")
	sum, logs := 0.0, 0.0
	for _, r := range all {
		fmt.Fprintf(w,
			"%-40.40s %8.1f %6.1f %6.2f %6.3f %6.2f %7.2f %7.3f %7.1f %7.1f%% %9.3f %9.3f %8.1f%%  %s\n",
			r.Program+" "+r.Kernel, r.Microseconds, r.Warps, r.Z, r.E, r.M, r.L, r.R, r.Waiting,
			100*r.Covered, r.Predicted, r.Measured, 100*r.accuracy(), r.Bound)
		sum += r.accuracy()
		logs += math.Abs(math.Log(r.Predicted / r.Measured))
	}
	n := float64(len(all))
	tellFits(w, all)
	for _, half := range []string{"a", "b"} {
		part, of := 0.0, 0
		for _, r := range all {
			if sum := sha256.Sum256([]byte(r.Program)); (sum[0]&1 == 1) == (half == "b") {
				part, of = part+r.accuracy(), of+1
			}
		}
		fmt.Fprintf(w, "half %s: %d kernels, mean accuracy %.1f %%\n", half, of,
			100*part/float64(max(of, 1)))
	}
	_, err := fmt.Fprintf(w, "%d kernels: mean accuracy %.1f %%; typical factor of error %.3f\n",
		len(all), 100*sum/n, math.Exp(logs/n))
	return err
}

// tellFits prints how near times under bypassing and throttling are to what the model says.
func tellFits(w io.Writer, all []row) {
	fmt.Fprintf(w, "\n%-40s %6s %9s %12s\n", "locality (Eq. 3.5)", "points", "by counts",
		"if no change")
	n, flat, counted := 0.0, 0.0, 0.0
	for _, r := range all {
		f := r.Fit
		if f == nil {
			continue
		}
		fmt.Fprintf(w, "%-40.40s %6d %8.1f%% %11.1f%%\n", r.Program+" "+r.Kernel, f.Points,
			100*f.Counted, 100*f.Flat)
		n, flat, counted = n+1, flat+f.Flat, counted+f.Counted
	}
	if n > 0 {
		fmt.Fprintf(w, "%.0f kernels: times under bypass=K and throttle=N within %.1f %% with the "+
			"locality by counts (%.1f %% if nothing made a difference)", n, 100*counted/n, 100*flat/n)
	}
	fmt.Fprint(w, "\n\n")
}
