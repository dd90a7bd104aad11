package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// covers reports whether all of the kernel's arithmetic ran in d draws of each kind.
func (r *Record) covers(d int) bool { return r.Own.Ran[d-1] == r.Own.All }

// kinds are the lines of the table: which variants count.
var lines = []struct {
	name string
	is   func(r *Record, d int) bool
}{
	{"all", func(*Record, int) bool { return true }},
	{"all arithmetic ran", (*Record).covers},
	{"some did not run", func(r *Record, d int) bool { return !r.covers(d) }},
	{"rounding.py", func(r *Record, _ int) bool { return r.Generator == "rounding.py" }},
	{"blocks.py", func(r *Record, _ int) bool { return r.Generator == "blocks.py" }},
	{"examples", func(r *Record, _ int) bool { return r.Generator == "examples" }},
}

// summary prints how many variants a check accepts, and how many of these differ later.
func summary(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var list []*Record
	count := map[string]int{}
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		r := &Record{}
		if err := json.Unmarshal(scan.Bytes(), r); err != nil {
			continue // the last line of a run that was ended
		}
		count[r.What]++
		if r.What == "same" || r.What == "differs" {
			list = append(list, r)
		}
	}
	if err := scan.Err(); err != nil {
		return err
	}
	fmt.Println(count)
	fmt.Printf("%-20s %5s %9s %9s %8s %8s\n", "", "draws", "accepted", "of them", "with the", "NaN or")
	fmt.Printf("%-20s %5s %9s %9s %8s %8s\n", "", "", "", "differ", "same args", "fault")
	for _, l := range lines {
		for d := range checks {
			accepted, differ, same, mild := 0, 0, 0, 0
			for _, r := range list {
				if r.Accepted <= d || !l.is(r, d+1) {
					continue
				}
				accepted++
				if r.First != nil {
					differ++
					if r.First.Stage != "others" {
						same++
					}
					if r.First.NaN || r.First.Fault {
						mild++
					}
				}
			}
			fmt.Printf("%-20s %5d %9d %9d %8d %8d\n", l.name, d+1, accepted, differ, same, mild)
		}
	}
	slices.SortFunc(list, func(a, b *Record) int { return int(a.Seed - b.Seed) })
	for _, r := range list {
		if r.First == nil || r.Accepted == 0 {
			continue
		}
		fmt.Printf("\nseed %d %s %s [%s] %s, accepted on %d draws of each kind\n  %+v\n  ran: own %v of %d, variant %v of %d, not %v %v\n",
			r.Seed, r.Generator, r.Kernel, r.Flags, r.Recipe, r.Accepted, *r.First, r.Own.Ran, r.Own.All,
			r.Variant.Ran, r.Variant.All, r.Own.Missing, r.Variant.Missing)
	}
	return nil
}
