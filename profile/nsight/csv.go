package nsight

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// CSV of the two tools. In front of the header stand the program's own output, lines of the tool
// (==PROF==, Processing ...), or nothing. The first row in which every column of a table stands is
// its header; a file may hold several tables, one behind the other, as nsys stats with several
// reports writes them.
//
//	ncu --page raw      a row a launch, a column a metric; below the header a row of units, whose first fields are empty
//	ncu --page details  a row a launch and metric: Metric Name, Metric Unit, Metric Value
//	cuda_gpu_kern_sum   a row a kernel: Total Time (ns), Instances, ..., Name
//	cuda_gpu_trace      a row a launch or copy: Start (ns), Duration (ns), ..., GrdX, ..., BlkZ, ..., Device, ..., Name
//
// Units stand in brackets in nsys' headers (--timeunit changes them), in a row or a column of
// ncu's. Thousands have commas in ncu's, in quotes.

// durationMetric is what a kernel's time is taken from.
const durationMetric = "gpu__time_duration.sum"

// durations are its names: a page or a set of metrics may have another one. The first that a file
// has counts.
var durations = []string{durationMetric, "gpu__time_duration.avg",
	"gpu__time_duration_measured_user.sum", "Duration"}

// A header is a row that names columns: where each of them is, and its unit.
type header struct {
	at    map[string]int
	units map[string]string
}

// column is a field's place, -1 where there is none.
func (h header) column(name string) int {
	if i, ok := h.at[name]; ok {
		return i
	}
	return -1
}

// newHeader reads a row's names: "Duration (ns)" is Duration, in ns.
func newHeader(row []string) header {
	h := header{map[string]int{}, map[string]string{}}
	for i, field := range row {
		name, unit := strings.TrimSpace(field), ""
		if base, rest, ok := strings.Cut(name, " ("); ok && strings.HasSuffix(rest, ")") {
			name, unit = base, strings.TrimSuffix(rest, ")")
		}
		if _, twice := h.at[name]; !twice {
			h.at[name], h.units[name] = i, unit
		}
	}
	return h
}

// has tells whether all of these columns are there.
func (h header) has(names ...string) bool {
	for _, name := range names {
		if h.column(name) < 0 {
			return false
		}
	}
	return true
}

// A table reads the rows below a header.
type table struct {
	kind string
	row  func(b *builder, get func(name string) string)
	// units takes a row of units, where the table has one.
	units func(get func(name string) string) bool
}

// tableOf knows a header.
func tableOf(h header) *table {
	switch {
	case h.has("Kernel Name", "Metric Name", "Metric Value"):
		return detailsTable(h)
	case h.has("Kernel Name"):
		return rawTable(h)
	case h.has("Total Time", "Instances", "Name"):
		return sumTable(h)
	case h.has("Duration", "GrdX", "BlkX", "Name"):
		return traceTable(h)
	}
	return nil
}

// parseCSV reads a file of either tool.
func parseCSV(text []byte) (*Profile, error) {
	b := &builder{}
	var h header
	var t *table
	known := false // a header of kernels without times
	next := rows(string(text))
	for {
		row, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if t != nil { // in front of a header stands anything
				b.Left++
			}
			continue
		}
		if found := newHeader(row); len(row) > 1 {
			if other := tableOf(found); other != nil {
				h, t = found, other
				b.Kind = t.kind
				known = known || t.row == nil
				continue
			}
		}
		if t == nil || t.row == nil {
			continue
		}
		if len(row) == 1 { // a line of the tool between two tables
			if strings.TrimSpace(row[0]) != "" && !strings.HasPrefix(row[0], "==") {
				t = nil
			}
			continue
		}
		get := func(name string) string {
			if i := h.column(name); i >= 0 && i < len(row) {
				return strings.TrimSpace(row[i])
			}
			return ""
		}
		if t.units != nil && t.units(get) {
			continue
		}
		t.row(b, get)
	}
	switch {
	case len(b.Kernels) > 0:
		return &b.Profile, nil
	case known:
		return nil, fmt.Errorf("no column has the kernels' times: ncu --csv --page raw --metrics %s",
			durationMetric)
	case b.Kind != "":
		return nil, fmt.Errorf("it is of %s, and has no kernel (%d rows make no sense)", b.Kind, b.Left)
	}
	return nil,
		errors.New(
			"no profile: it has none of the headers of ncu --csv --page raw, nsys stats --report cuda_gpu_kern_sum or cuda_gpu_trace --format csv, and is not what gnvcc profile --json prints")
}

// rows gives a text's rows, one at a time. A record that encoding/csv refuses costs its first line.
func rows(text string) func() ([]string, error) {
	return func() ([]string, error) {
		if text == "" {
			return nil, io.EOF
		}
		// A name in quotes may not reach over a line's end; so a line is a record, and one that is
		// damaged damages no other.
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		r := csv.NewReader(strings.NewReader(strings.TrimSuffix(line, "\r")))
		r.FieldsPerRecord, r.ReuseRecord, r.TrimLeadingSpace = -1, false, true
		row, err := r.Read()
		if errors.Is(err, io.EOF) { // an empty line
			return []string{""}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("no row: %w", err)
		}
		return row, nil
	}
}

// rawTable is ncu --page raw.
func rawTable(h header) *table {
	t := &table{kind: "ncu"}
	for _, metric := range durations {
		if !h.has(metric) {
			continue
		}
		unit := h.units[metric]
		t.units = func(get func(string) string) bool {
			if get("Kernel Name") != "" || get("ID") != "" {
				return false
			}
			unit = get(metric)
			return true
		}
		t.row = func(b *builder, get func(string) string) {
			seconds, err := timeOf(get(metric), unit)
			if err != nil {
				b.Left++
				return
			}
			b.device(get("device__attribute_display_name"))
			b.add(get("Kernel Name"), seconds, 1, shapeOf(get("Grid Size"), get("Block Size")))
		}
		break
	}
	return t
}

// detailsTable is ncu without --page, or --page details; with --print-summary a row stands for
// several launches.
func detailsTable(header) *table {
	t := &table{kind: "ncu"}
	chosen := "" // of several metrics for the time the one that stands first
	t.row = func(b *builder, get func(string) string) {
		metric, value := get("Metric Name"), get("Metric Value")
		if chosen == "" && slices.Contains(durations, metric) {
			chosen = metric
		}
		if metric != chosen || chosen == "" {
			return
		}
		launches := int64(1)
		if n, err := numberOf(get("Invocations")); err == nil {
			launches = int64(n)
		}
		seconds, err := timeOf(value, get("Metric Unit"))
		if err != nil {
			b.Left++
			return
		}
		b.add(get("Kernel Name"), seconds*float64(launches), int(launches), shapeOf(get("Grid Size"),
			get("Block Size")))
	}
	return t
}

// sumTable is cuda_gpu_kern_sum, gpukernsum in older versions.
func sumTable(h header) *table {
	t := &table{kind: "nsys"}
	if !h.has("Instances") || h.has("Operation") {
		return t
	}
	t.row = func(b *builder, get func(string) string) {
		seconds, err := timeOf(get("Total Time"), h.units["Total Time"])
		launches, also := numberOf(get("Instances"))
		if err != nil || also != nil {
			b.Left++
			return
		}
		shape := shapeOf(get("GridXYZ"), get("BlockXYZ"))
		if !isOperation(get("Name")) {
			b.add(get("Name"), seconds, int(launches), shape)
		}
	}
	return t
}

// traceTable is cuda_gpu_trace. Copies have no grid.
func traceTable(h header) *table {
	t := &table{kind: "nsys"}
	t.row = func(b *builder, get func(string) string) {
		if get("GrdX") == "" || isOperation(get("Name")) {
			return
		}
		seconds, err := timeOf(get("Duration"), h.units["Duration"])
		if err != nil {
			b.Left++
			return
		}
		device := get("Device")
		if i := strings.LastIndex(device, " ("); i > 0 { // "NVIDIA H200 (0)"
			device = device[:i]
		}
		b.device(device)
		grid := get("GrdX") + " " + get("GrdY") + " " + get("GrdZ")
		block := get("BlkX") + " " + get("BlkY") + " " + get("BlkZ")
		b.add(get("Name"), seconds, 1, shapeOf(grid, block))
	}
	return t
}

// isOperation tells copies and the like from kernels: "[CUDA memcpy Host-to-Device]".
func isOperation(name string) bool { return strings.HasPrefix(name, "[CUDA ") }

// device notes the GPU; of several none is named.
func (b *builder) device(name string) {
	switch {
	case name == "" || b.Device == "several":
	case b.Device == "" || b.Device == name:
		b.Device = name
	default:
		b.Device = "several"
	}
}

// units are seconds, by the words that the tools have for them. ncu of 2024 and later writes ns,
// earlier ones nsecond.
var units = map[string]float64{
	"ns": 1e-9, "nsecond": 1e-9, "nanosecond": 1e-9, "nsec": 1e-9,
	"us": 1e-6, "usecond": 1e-6, "microsecond": 1e-6, "usec": 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6,
	"ms": 1e-3, "msecond": 1e-3, "millisecond": 1e-3, "msec": 1e-3,
	"s": 1, "second": 1, "sec": 1,
	"": 1e-9, // both tools count in ns where they say nothing
}

// timeOf reads a time, in seconds.
func timeOf(text, unit string) (float64, error) {
	n, err := numberOf(text)
	factor, ok := units[strings.TrimSpace(unit)]
	if err != nil || !ok {
		return 0, fmt.Errorf("%q %q is no time", text, unit)
	}
	return n * factor, nil
}

// numberOf reads a number from 0 on, with or without commas between its thousands: 10,196,000.5.
func numberOf(text string) (float64, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	if groups := strings.Split(whole, ","); len(groups) > 1 {
		for i, g := range groups {
			if len(g) != 3 && (i > 0 || len(g) > 3 || g == "") {
				return 0, fmt.Errorf("%q is no number", text)
			}
		}
		text = strings.Join(groups, "")
		if fraction != "" {
			text += "." + fraction
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%q is no number from 0 on", text)
	}
	return n, nil
}

// shapeOf reads "(4096, 1, 1)", or three numbers with spaces; nil where there is none.
func shapeOf(grid, block string) *Shape {
	var s Shape
	for i, text := range []string{grid, block} {
		fields := strings.FieldsFunc(text, func(c rune) bool {
			return strings.ContainsRune("()[], x", c)
		})
		if len(fields) != 3 {
			return nil
		}
		for j, f := range fields {
			n, err := strconv.Atoi(f)
			if err != nil {
				return nil
			}
			if i == 0 {
				s.Grid[j] = n
			} else {
				s.Block[j] = n
			}
		}
	}
	return &s
}
