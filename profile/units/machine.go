package units

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
)

//go:embed source/machine.cu
var machineSource []byte

// A Machine is what a multiprocessor (SM) of this machine's GPU was measured to do.
type Machine struct {
	Device string
	SMs    int
	CC     int     // 90 for 9.0
	Clock  float64 // MHz, the highest
	// Latency is in cycles: "global", "l2", "l1", "shared", and of a class's results.
	Latency map[string]float64
	// Rate is results of one lane per cycle and SM: "fp32", "fp64", "imad", "integer", "sfu", "convert", "shuffle"; and
	// "sectors", of 32 bytes, that device memory gives one SM per cycle.
	Rate map[string]float64
	// Occupancy is the time of the same work by so many resident warps of each SM, in milliseconds: code that waits for
	// its own results.
	Occupancy map[int]float64
}

// BuildMachine builds the program that measures the machine.
func BuildMachine(ctx context.Context, nvcc, dir string) (string, error) {
	return build(ctx, nvcc, dir, "machine", machineSource)
}

// MeasureMachine runs it. It takes some seconds. Without a GPU: ErrNoGPU.
func MeasureMachine(ctx context.Context, program string) (*Machine, error) {
	out, err := output(ctx, program)
	if err != nil {
		return nil, err
	}
	return ReadMachine(string(out))
}

// ReadMachine reads what the program prints; machine.cu has the form.
func ReadMachine(text string) (*Machine, error) {
	m := &Machine{Latency: map[string]float64{}, Rate: map[string]float64{}, Occupancy: map[int]float64{}}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Split(line, "\t")
		bad := fmt.Errorf("the program that measures the machine printed %q", line)
		if len(f) < 3 {
			return nil, bad
		}
		if f[0] == "device" {
			if len(f) != 4 {
				return nil, bad
			}
			var err, err2 error
			m.Device = f[1]
			m.SMs, err = strconv.Atoi(f[2])
			m.CC, err2 = strconv.Atoi(f[3])
			if err != nil || err2 != nil || m.SMs < 1 {
				return nil, bad
			}
			continue
		}
		v, err := strconv.ParseFloat(f[2], 64)
		if err != nil || !(v > 0) || v > 1e12 {
			return nil, bad
		}
		switch f[0] {
		case "clock":
			m.Clock = v
		case "latency":
			m.Latency[f[1]] = v
		case "rate":
			m.Rate[f[1]] = v
		case "occupancy":
			warps, err := strconv.Atoi(f[1])
			if err != nil || warps < 1 {
				return nil, bad
			}
			m.Occupancy[warps] = v
		default:
			return nil, bad
		}
	}
	for _, name := range []string{"global", "l1", "shared"} {
		if m.Latency[name] == 0 {
			return nil, fmt.Errorf("the program that measures the machine printed no latency of %s", name)
		}
	}
	if m.CC == 0 || m.Rate["fp32"] == 0 || m.Rate["sectors"] == 0 {
		return nil, fmt.Errorf("the program that measures the machine printed no device, no rate of fp32, or none of memory")
	}
	return m, nil
}

// Print writes the table for people.
func (m *Machine) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s (sm_%d), %d multiprocessors, %.0f MHz, of each of which:\n", m.Device, m.CC, m.SMs, m.Clock)
	for _, t := range []struct {
		unit string
		all  map[string]float64
	}{{"cycles until %s is there: %.1f\n", m.Latency}, {"%s per cycle: %.2f\n", m.Rate}} {
		var names []string
		for name := range t.all {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			fmt.Fprintf(w, "  "+t.unit, name, t.all[name])
		}
	}
	var warps []int
	for n := range m.Occupancy {
		warps = append(warps, n)
	}
	sort.Ints(warps)
	text := "  time of dependent arithmetic by resident warps (ms):"
	for _, n := range warps {
		text += fmt.Sprintf(" %d: %.3f", n, m.Occupancy[n])
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
