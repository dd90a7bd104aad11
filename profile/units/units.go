package units

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
)

//go:embed source/measure.cu
var source []byte

// ErrNoGPU says that there is no GPU to measure.
var ErrNoGPU = errors.New("there is no GPU here, or no driver for it: nothing can be measured")

// noGPU is the program's exit code for that.
const noGPU = 3

// A Row is one form of one function over one range of arguments.
type Row struct {
	Function string // "div", "sin"
	Type     string // "float", "double"
	Form     string // "accurate", "approx", "approx.ftz", "full", "f64", "f64+1"
	Range    string // of the arguments
	Kernel   string // its name in the program, as counts has it
	// 10^9 operations per second, all multiprocessors, the loop's two additions included
	Rate float64
	ULPs float64 // largest error, in units of the last place
	Max  float64 // largest relative error
	Mean float64 // mean relative error
	Code Code
}

// An Odd is a special value for which a form gives another kind of result (zero, number, infinity,
// NaN) than the accurate form.
type Odd struct {
	Function, Type, Form string
	X, Y                 string // arguments
	Want, Got            string
}

// A Table is what was measured.
type Table struct {
	Device string
	SMs    int
	Rows   []Row
	Odd    []Odd
	Copy   Code // of a kernel that computes nothing
}

// Build builds the program with nvcc, for the GPU of this machine, into a folder, and gives its
// path.
func Build(ctx context.Context, nvcc, dir string) (string, error) {
	return build(ctx, nvcc, dir, "measure", source)
}

func build(ctx context.Context, nvcc, dir, name string, text []byte) (string, error) {
	in, out := filepath.Join(dir, name+".cu"), filepath.Join(dir, name)
	if err := os.WriteFile(in, text, 0o600); err != nil {
		return "", fmt.Errorf("write the program that measures: %w", err)
	}
	cmd := exec.CommandContext(ctx, nvcc, "-O3", "-std=c++17", "-arch=native", "-w", "-o", out, in)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program that measures with %s: %w\n%s", nvcc, err,
			bytes.TrimSpace(text))
	}
	return out, nil
}

// Measure runs the program, and counts its kernels' instructions. It takes some seconds. Without a
// GPU: ErrNoGPU.
func Measure(ctx context.Context, program string) (*Table, error) {
	out, err := output(ctx, program)
	if err != nil {
		return nil, err
	}
	t, err := read(out)
	if err != nil {
		return nil, err
	}
	codes, err := counts(program)
	if err != nil {
		return nil, err
	}
	t.Copy = codes["copy"]
	for i := range t.Rows {
		r := &t.Rows[i]
		var ok bool
		if r.Code, ok = codes[r.Kernel]; !ok {
			return nil, fmt.Errorf("the program that measures has no kernel %q", r.Kernel)
		}
	}
	return t, nil
}

// output runs a program that measures and gives what it prints.
func output(ctx context.Context, program string) ([]byte, error) {
	var errText bytes.Buffer
	cmd := exec.CommandContext(ctx, program)
	cmd.Stderr = &errText
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == noGPU:
		return nil, fmt.Errorf("%w: %s", ErrNoGPU, strings.TrimSpace(errText.String()))
	case err != nil:
		return nil, fmt.Errorf("the program that measures failed: %w\n%s", err,
			strings.TrimSpace(errText.String()))
	}
	return out, nil
}

// read reads what the program prints; measure.cu has the form.
func read(text []byte) (*Table, error) {
	t := &Table{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Split(line, "\t")
		bad := fmt.Errorf("the program that measures printed %q", line)
		switch {
		case f[0] == "device" && len(f) == 3:
			n, err := strconv.Atoi(f[2])
			if err != nil {
				return nil, bad
			}
			t.Device, t.SMs = f[1], n
		case f[0] == "row" && len(f) == 10:
			r := Row{Function: f[1], Type: f[2], Form: f[3], Range: f[4], Kernel: f[5]}
			for i, to := range []*float64{&r.Rate, &r.ULPs, &r.Max, &r.Mean} {
				v, err := strconv.ParseFloat(f[6+i], 64)
				if err != nil {
					return nil, bad
				}
				*to = v
			}
			t.Rows = append(t.Rows, r)
		case f[0] == "odd" && len(f) == 8:
			t.Odd = append(t.Odd, Odd{f[1], f[2], f[3], f[4], f[5], f[6], f[7]})
		default:
			return nil, bad
		}
	}
	if len(t.Rows) == 0 {
		return nil, errors.New("the program that measures printed nothing")
	}
	return t, nil
}

// Print writes the table for people. What a form gains is its rate over that of the accurate form
// in the same range.
func (t *Table) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d multiprocessors; errors over 262,144 arguments; registers and instructions\nof a kernel that reads arguments, computes once and writes, in the code, not as they ran (one that only copies: %d, %d)\n\n",
		t.Device, t.SMs, t.Copy.Registers, t.Copy.Instructions)
	tab := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tab, "function\ttype\tform\targuments\tGop/s\tgain\tulps\tlargest error\tmean error\tregisters\tinstructions\tSFU/f32/f64")
	accurate := map[string]float64{}
	for _, r := range t.Rows {
		key := r.Function + " " + r.Type + " " + r.Range
		gain := ""
		if r.Form == "accurate" {
			accurate[key] = r.Rate
		} else if base := accurate[key]; base > 0 {
			gain = fmt.Sprintf("%.2fx", r.Rate/base)
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%.0f\t%s\t%.3g\t%.2g\t%.2g\t%d\t%d\t%d/%d/%d\n", r.Function,
			typeName(r.Type), r.Form, r.Range, r.Rate, gain, r.ULPs, r.Max, r.Mean,
			r.Code.Registers, r.Code.Instructions, r.Code.SFU, r.Code.FP32, r.Code.FP64)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	if len(t.Odd) == 0 {
		_, err := fmt.Fprintln(w,
			"\nspecial values (zeros, infinities, NaN, subnormals, the largest): all as the accurate forms")
		return err
	}
	fmt.Fprintln(w, "\nspecial values that give another kind of result:")
	tab = tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, o := range t.Odd {
		arguments := o.X
		if o.Y != "" {
			arguments += ", " + o.Y
		}
		fmt.Fprintf(tab, "  %s\t%s\t%s\t(%s)\tis %s\taccurate: %s\n", o.Function, typeName(o.Type),
			o.Form, arguments, o.Got, o.Want)
	}
	return tab.Flush()
}

func typeName(t string) string {
	if t == "double" {
		return "f64"
	}
	return "f32"
}
