// Reading what the clock wrote.

package lab

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
)

// A Row is one kernel of one process in one launch configuration. Times are nanoseconds of the
// GPU's clock.
type Row struct {
	Kernel      string // mangled
	Grid, Block [3]int
	Dynamic     int // dynamic shared memory, bytes
	Registers   int // per thread
	Count       int // launches
	Total       int64
	Min         int64
	Median      int64
}

// A Reading is everything that one run wrote.
type Reading struct {
	Rows []Row // the longest total first
	Lost int64 // launches that were not timed
}

// Total is the time of all kernels, nanoseconds.
func (r Reading) Total() int64 {
	var sum int64
	for _, row := range r.Rows {
		sum += row.Total
	}
	return sum
}

// readFile reads a clock's file. That there is none means that the program launched no kernel that
// the clock could see: an error, since nothing was measured.
func readFile(path string) (Reading, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return Reading{}, fmt.Errorf(
			"read the clock: it wrote nothing to %s: the program used no GPU, or ended by _exit or a signal",
			path)
	}
	if err != nil {
		return Reading{}, fmt.Errorf("read the clock: %w", err)
	}
	defer f.Close()
	r, err := read(f)
	if err != nil {
		return Reading{}, fmt.Errorf("read the clock's %s: %w", path, err)
	}
	return r, nil
}

// read reads the lines of all processes of a run. The same kernel in the same configuration in
// several processes gives several rows.
func read(in io.Reader) (Reading, error) {
	var out Reading
	lines := csv.NewReader(in)
	lines.FieldsPerRecord = -1
	for {
		f, err := lines.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Reading{}, err
		}
		line, _ := lines.FieldPos(0)
		if len(f) == 3 && f[1] == "lost" {
			n, err := strconv.ParseInt(f[2], 10, 64)
			if err != nil || n < 0 {
				return Reading{}, fmt.Errorf("line %d: %q is no count", line, f[2])
			}
			out.Lost += n
			continue
		}
		if len(f) != 15 {
			return Reading{}, fmt.Errorf("line %d has %d fields, not 15", line, len(f))
		}
		var n [12]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(f[i+3], 10, 64); err != nil || n[i] < 0 {
				return Reading{}, fmt.Errorf("line %d: field %d: %q is no count", line, i+4, f[i+3])
			}
		}
		out.Rows = append(out.Rows, Row{
			Kernel: f[2],
			Grid:   [3]int{int(n[0]), int(n[1]), int(n[2])}, Block: [3]int{int(n[3]), int(n[4]), int(n[5])},
			Dynamic: int(n[6]), Registers: int(n[7]), Count: int(n[8]), Total: n[9], Min: n[10],
			Median: n[11],
		})
	}
	sort.SliceStable(out.Rows, func(i, j int) bool { return out.Rows[i].Total > out.Rows[j].Total })
	return out, nil
}

// apart is the variable that keeps kernels apart.
const apart = "GNVCC_CLOCK_APART=1"

// added is what that adds to each launch at the least, nanoseconds: 1,310 to 2,110 on an H200 for
// kernels of few blocks.
const added = 1300

// UnderClock has run start a program with the variables that put it under the clock, whose library is
// given, and reads what the clock wrote to the file. Kernels may run at a time, which makes those
// with many short blocks look slower than they are, or are kept apart, which adds more than a
// microsecond to each, of which the least is taken off.
func UnderClock(library, file string, keptApart bool, run func(env []string) error) (Reading, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return Reading{}, err
	}
	if err := os.RemoveAll(file); err != nil { // the clock appends
		return Reading{}, err
	}
	with := env(library, file)
	if keptApart {
		with = append(with, apart)
	}
	if err := run(with); err != nil {
		return Reading{}, err
	}
	r, err := readFile(file)
	for i := range r.Rows {
		if row := &r.Rows[i]; keptApart {
			row.Total = max(0, row.Total-int64(row.Count)*added)
			row.Min, row.Median = max(0, row.Min-added), max(0, row.Median-added)
		}
	}
	return r, err
}
