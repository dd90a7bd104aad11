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
	// Rate is results of one lane per cycle and SM: "fp32", "fp64", "imad", "integer", "sfu",
	// "convert", "shuffle"; and "sectors", of 32 bytes, that device memory gives one SM per cycle,
	// "sectorsL2", that L2 gives it.
	Rate map[string]float64
	// Occupancy is the time of the same work by so many resident warps of each SM, in milliseconds:
	// code that waits for its own results. Issue is how many of its instructions these warps issue per
	// cycle.
	Occupancy, Issue map[int]float64
	// Supply is what device memory delivers, Near what L2 does, while all resident warps wait for one
	// load each.
	Supply, Near []Supply
}

// A Supply is one point of f(k): Sectors of 32 bytes per cycle and SM for Warps that wait for loads
// of so many Bytes a lane, all lanes side by side.
type Supply struct {
	Bytes, Warps int
	Sectors      float64
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
	m := &Machine{Latency: map[string]float64{}, Rate: map[string]float64{},
		Occupancy: map[int]float64{}, Issue: map[int]float64{}}
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
		case "occupancy", "issue":
			warps, err := strconv.Atoi(f[1])
			if err != nil || warps < 1 {
				return nil, bad
			}
			if f[0] == "issue" {
				m.Issue[warps] = v
			} else {
				m.Occupancy[warps] = v
			}
		case "supply", "supplyL2":
			bytes, warps, _ := strings.Cut(f[1], "x")
			b, err := strconv.Atoi(bytes)
			k, err2 := strconv.Atoi(warps)
			if err != nil || err2 != nil || b < 1 || k < 1 {
				return nil, bad
			}
			p := Supply{Bytes: b, Warps: k, Sectors: v}
			if f[0] == "supply" {
				m.Supply = append(m.Supply, p)
			} else {
				m.Near = append(m.Near, p)
				m.Rate["sectorsL2"] = max(m.Rate["sectorsL2"], v)
			}
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
		return nil,
			fmt.Errorf(
				"the program that measures the machine printed no device, no rate of fp32, or none of memory")
	}
	return m, nil
}

// Print writes the table for people.
func (m *Machine) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s (sm_%d), %d multiprocessors, %.0f MHz, of each of which:\n", m.Device, m.CC,
		m.SMs, m.Clock)
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
	m.curve(w, "time of dependent arithmetic by resident warps (ms)", m.Occupancy)
	m.curve(w, "instructions of it per cycle", m.Issue)
	for _, s := range []struct {
		from string
		all  []Supply
	}{{"device memory", m.Supply}, {"L2", m.Near}} {
		for n, p := range s.all {
			if n == 0 || s.all[n-1].Bytes != p.Bytes {
				if n > 0 {
					fmt.Fprintln(w)
				}
				fmt.Fprintf(w, "  sectors per cycle from %s by waiting warps, %d bytes a lane:", s.from,
					p.Bytes)
			}
			fmt.Fprintf(w, " %d: %.3f", p.Warps, p.Sectors)
		}
		if len(s.all) > 0 {
			fmt.Fprintln(w)
		}
	}
	return nil
}

// curve prints values by warps, if there are any.
func (m *Machine) curve(w io.Writer, name string, values map[int]float64) {
	var warps []int
	for n := range values {
		warps = append(warps, n)
	}
	sort.Ints(warps)
	text := "  " + name + ":"
	for _, n := range warps {
		text += fmt.Sprintf(" %d: %.3f", n, values[n])
	}
	if len(warps) > 0 {
		fmt.Fprintln(w, text)
	}
}
