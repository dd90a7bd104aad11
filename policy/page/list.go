package page

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"gnvcc/policy"
)

// The same values as lists: for spreadsheets, for pull requests, and against an earlier report.

// CSV writes a line for each kernel, those that take most time first. Times are nanoseconds a
// launch.
func CSV(w io.Writer, in Input) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"kernel", "state", "before_ns", "after_ns", "speed_up", "launches",
		"registers_before", "registers_after",
		"exactness", "recipe", "device", "target", "not_built_because", "file", "program"}}
	for _, e := range in.entries() {
		d := e.Decision
		rows = append(rows, []string{e.Kernel, state(e), number(e.Time[0]), number(e.Time[1]),
			fmt.Sprintf("%.4f", e.SpeedUp),
			fmt.Sprint(e.Launches), fmt.Sprint(d.Evidence.Default.Registers),
			fmt.Sprint(d.Evidence.Chosen.Registers),
			d.Exactness, e.Recipe, d.Evidence.Device, d.Target, e.Untaken, e.File, e.Program})
	}
	return out.WriteAll(rows)
}

func number(f float64) string { return fmt.Sprintf("%.1f", f) }

// Markdown writes the same as a table.
func Markdown(w io.Writer, in Input) error {
	var b strings.Builder
	b.WriteString(
		"| kernel | before | after | speed-up | launches | registers | built with |\n|---|---|---|---|---|---|---|\n")
	for _, e := range in.entries() {
		k := summary(in, e)
		up := k.SpeedUp
		if k.State == "pinned" || k.State == "predicted" || k.State == "alone" {
			up = k.State
		}
		if k.Untaken != "" {
			k.Words += "; not built: " + k.Untaken
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %s | %s |\n", policy.Markdown(k.Name), k.Before, k.After, up,
			k.Launches, k.Registers, policy.Markdown(k.Words))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
