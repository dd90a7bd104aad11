package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Rows of raw results, and the table of them.

// A Row is the answer of one kernel for one lever.
type Row struct {
	Program, File string
	Kernel, Name  string // as people write it; mangled
	Source        string // FILE:LINE
	Instructions  int    // in PTX, with the functions that it calls
	Loops         bool
	Registers     int // a thread, of nvcc's own compile
	Stack         int // bytes a thread

	Lever    string
	Asked    []string // recipes
	Accepted string   // the first one that a build would take; "": none
	Refused  []Reason
}

// A Reason is why a build would not take a recipe.
type Reason struct {
	Recipe, Why string
	Class       string // Why without numbers, names and places
	Line        string `json:",omitempty"` // FILE:LINE, where Why has one
}

// key is what a kernel's answer replaces an earlier one by.
func (r Row) key() string { return strings.Join([]string{r.Program, r.File, r.Name, r.Lever}, "\x00") }

// kernel is what its rows have in common.
func (r Row) kernel() string { return strings.Join([]string{r.Program, r.File, r.Name}, "\x00") }

var (
	place  = regexp.MustCompile(`[\w./+-]+\.(?:cuh?|cc|cpp|hpp|h|inl|inc):\d+`)
	quoted = regexp.MustCompile("\"[^\"]*\"|`[^`]*`")
	number = regexp.MustCompile(`[-#%$@]?\b\d[\w.,]*`)
	name   = regexp.MustCompile(`\b_Z\w+|\b\w*(?:::\w+)+|%\w+|\b\w*_\w+\b`)
)

// reason sorts an error.
func reason(asked string, err error) Reason {
	out := Reason{Recipe: asked, Why: strings.ReplaceAll(err.Error(), "\n", "; ")}
	out.Line = place.FindString(out.Why)
	class := out.Why
	for _, term := range append(strings.Fields(asked), asked) {
		class = strings.TrimPrefix(class, term+": ")
	}
	class = place.ReplaceAllString(class, "FILE")
	class = quoted.ReplaceAllString(class, "TEXT")
	class = name.ReplaceAllString(class, "NAME")
	class = number.ReplaceAllString(class, "N")
	out.Class = class
	return out
}

// goal are the levers of which a heavy kernel is to take one, besides caps and hints.
var goal = []string{"unroll", "spec", "coarsen", "shape"}

// A count is how a program's kernels answered.
type count struct {
	kernels, caps, hints, more, all int
	accepted, asked                 map[string]int
}

// counts are the programs', and of all together under "all".
func counts(rows []Row) map[string]*count {
	kernels := map[string]map[string]Row{} // by lever
	for _, r := range rows {
		if kernels[r.kernel()] == nil {
			kernels[r.kernel()] = map[string]Row{}
		}
		kernels[r.kernel()][r.Lever] = r
	}
	out := map[string]*count{}
	for key, levers := range kernels {
		program, _, _ := strings.Cut(key, "\x00")
		takes := func(list ...string) bool {
			return slices.ContainsFunc(list, func(l string) bool { return levers[l].Accepted != "" })
		}
		_, asked := levers["hint"]
		caps, hints, more := takes("maxnreg"), takes("hint") || !asked, takes(goal...)
		for _, of := range []string{program, "all"} {
			c := out[of]
			if c == nil {
				c = &count{accepted: map[string]int{}, asked: map[string]int{}}
				out[of] = c
			}
			c.kernels++
			c.caps += one(caps)
			c.hints += one(hints)
			c.more += one(more)
			c.all += one(caps && hints && more)
			for lever, r := range levers {
				c.asked[lever]++
				c.accepted[lever] += one(r.Accepted != "")
			}
		}
	}
	return out
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// table counts what kernels take, by program and lever, and why they refuse the rest.
func table(rows []Row) string {
	now := counts(rows)
	var b strings.Builder
	levers := slices.Clone(usual)
	for lever := range counts(rows)["all"].levers() {
		if !slices.Contains(levers, lever) {
			levers = append(levers, lever)
		}
	}
	slices.Sort(levers[len(usual):])
	fmt.Fprintf(&b, "%-14s %8s %10s %10s %10s %10s |", "program", "kernels", "caps", "hints",
		"more", "all")
	for _, l := range levers {
		fmt.Fprintf(&b, " %12s", l)
	}
	b.WriteString("\n")
	for _, program := range slices.SortedFunc(maps.Keys(now), func(a, b string) int {
		return cmp.Or(one(a == "all")-one(b == "all"), cmp.Compare(a, b))
	}) {
		n := now[program]
		part := func(of func(*count) int, all func(*count) int) string {
			return fmt.Sprintf("%d/%d", of(n), all(n))
		}
		kernels := func(c *count) int { return c.kernels }
		fmt.Fprintf(&b, "%-14s %8d %10s %10s %10s %10s |", program, n.kernels,
			part(func(c *count) int { return c.caps }, kernels),
			part(func(c *count) int { return c.hints }, kernels),
			part(func(c *count) int { return c.more }, kernels),
			part(func(c *count) int { return c.all }, kernels))
		for _, l := range levers {
			fmt.Fprintf(&b, " %12s", part(func(c *count) int { return c.accepted[l] },
				func(c *count) int { return c.asked[l] }))
		}
		b.WriteString("\n")
	}
	b.WriteString("\ncaps: maxnreg; hints: hint; more: one of " + strings.Join(goal, ", ") +
		"; all: caps, hints and more\n\n")
	reasons(&b, rows)
	return b.String()
}

func (c *count) levers() map[string]int {
	if c == nil {
		return nil
	}
	return c.asked
}

// reasons lists why levers are refused, where none of their recipes is taken: of each kernel the
// first reason.
func reasons(b *strings.Builder, rows []Row) {
	type class struct{ lever, why string }
	number, example := map[class]int{}, map[class]string{}
	for _, r := range rows {
		if r.Accepted != "" || len(r.Refused) == 0 {
			continue
		}
		c := class{r.Lever, r.Refused[0].Class}
		if number[c]++; example[c] == "" {
			example[c] = r.Program + " " + r.Kernel
		}
	}
	for _, c := range slices.SortedFunc(maps.Keys(number), func(x, y class) int {
		return cmp.Or(number[y]-number[x], cmp.Compare(x.lever+x.why, y.lever+y.why))
	}) {
		fmt.Fprintf(b, "%5d %-9s %.150s (%.60s)\n", number[c], c.lever, c.why, example[c])
	}
}
