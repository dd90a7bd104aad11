package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/predicted"
	"gnvcc/policy/report"
)

//go:embed page.html
var pageHTML string

// css is how a page looks.
//
//go:embed page.css
var css string

// drawn is how many kernels get pictures: a page of 5,000 would take a browser many seconds, and
// the rest of the time is in few kernels.
const drawn = 200

// mostRefused bounds the reasons listed for one kernel; what is more is counted.
const mostRefused = 12

// An Input is what a page is made from.
type Input struct {
	report.Options

	Decisions []cache.Decision
	Programs  []Program
	Toolkit   func(cache.Decision) string             // "ptxas 13.0.88", "" where it is not known; may be nil
	Balance   func(cache.Decision) *predicted.Balance // nil where none is known; may be nil
	Version   string                                  // of gnvcc
	Made      time.Time
}

// A Program is what one program does on the GPU.
type Program struct {
	Name    string
	Device  string
	Seconds float64        // on the GPU, in the runs observed
	Faster  float64        // of these, in kernels that have a recipe
	After   float64        // seconds that all would take by the decisions' ratios
	Pieces  []policy.Piece // of it, by kernel
	Gaps    []report.Gap   // what is in no kernel
}

// inTime are what the page's own text calls for a program's time: its bar, the pieces that get a
// line of their own, how many do not, a piece's part, and that of it which its recipe takes away.
var inTime = template.FuncMap{
	"bar":     func(p Program) template.HTML { return timeBar(p.Pieces) },
	"largest": func(p Program) []policy.Piece { return p.Pieces[:min(len(p.Pieces), mostPieces)] },
	"more":    func(p Program) int { return max(0, len(p.Pieces)-mostPieces) },
	"share":   func(p Program, x policy.Piece) string { return report.Share(x.Seconds, p.Seconds) },
	"gained":  func(x policy.Piece) string { return report.Share(x.Seconds-x.After, x.Seconds) },
}

// Percent is the part of the time that became faster.
func (p Program) Percent() float64 { return 100 * p.Faster / math.Max(p.Seconds, 1e-12) }

// A kernel is one decision, ready for the page.
type kernel struct {
	report.Entry
	ID         string // of its section
	Drawn      bool
	State      string // "faster", "same", "pinned", "predicted", "alone"
	Why        string
	Checked    string
	Toolkit    string
	Place      string // file and program, where several kernels have its name
	Share      string // of the time of all kernels measured
	Before     string // a launch
	After      string
	Up         string
	Bar        template.HTML
	Registers  string
	Warps      string // occupancy
	Rows       []row
	Pictures   []picture
	Refused    []reason
	RefusedAll int
}

// Time is that of all its launches; Date is when it was decided.
func (k kernel) Time() string { return report.Duration(k.Total()) }
func (k kernel) Date() string { return k.Decision.Time.Format("2006-01-02 15:04") }

// A row is one configuration.
type row struct {
	Shape, Before, After, SpeedUp, Values string
	Launches, Checked                     int
}

// A reason is why candidates were refused.
type reason struct {
	Text    string
	Example string
	Count   int
}

// Write makes the page.
func Write(w io.Writer, in Input) error {
	t, err := template.New("page").Funcs(inTime).Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("the page's own text: %w", err)
	}
	kernels := gather(in)
	counts := map[string]int{}
	devices, toolkits, imported := map[string]bool{}, map[string]bool{}, map[string]bool{}
	before, after := 0.0, 0.0
	for _, k := range kernels {
		counts[k.State]++
		devices[k.Decision.Evidence.Device], toolkits[k.Toolkit] = true, true
		if from := k.Decision.Imported; from != "" {
			counts["imported"]++
			imported[from] = true
		}
		before += k.Total()
		after += k.Total() * k.Ratio
	}
	for i := range kernels {
		kernels[i].Share = report.Share(kernels[i].Total(), before)
	}
	return t.Execute(w, map[string]any{
		"CSS": template.CSS(css), "In": in, "Kernels": kernels,
		"Searched": len(kernels) > 8, "Counts": counts,
		"Made": in.Made.Format("2006-01-02 15:04"), "Devices": names(devices, "GPU"),
		"Toolkits": names(toolkits, "toolkit"),
		"Before":   report.Duration(before), "After": report.Duration(after), "SpeedUp": times(before,
			after),
		"Measured": counts["faster"] + counts["same"], "Drawn": min(drawn, len(kernels)),
		"Programs": in.Programs, "Imported": names(imported, "file"),
	})
}

// gather makes the kernels, those that take most time first.
func gather(in Input) []kernel {
	var out []kernel
	for _, d := range in.Decisions {
		e := in.Entry(d)
		out = append(out, kernel{Entry: e, State: state(e), Why: Why(e)})
	}
	slices.SortStableFunc(out, func(a, b kernel) int { return cmp.Compare(b.Total(), a.Total()) })
	named := map[string]int{}
	for _, k := range out {
		named[k.Kernel]++
	}
	for i := range out {
		k := &out[i]
		k.ID = fmt.Sprintf("k%d", i+1)
		if named[k.Kernel] > 1 {
			k.Place = k.Where()
		}
		k.summary(in)
		if k.Drawn = i < drawn; k.Drawn {
			k.detail(in)
			if in.Balance != nil && i < balanced {
				if b := in.Balance(*k.Decision); b != nil {
					k.Pictures = append(k.Pictures, balancePicture(b))
				}
			}
		}
	}
	return out
}

// summary is what stands in the table.
func (k *kernel) summary(in Input) {
	ev := &k.Decision.Evidence
	if in.Toolkit != nil {
		k.Toolkit = in.Toolkit(*k.Decision)
	}
	k.Before, k.After, k.Up = "-", "-", "-"
	if len(ev.Launches) > 0 && k.Entry.Time[0] > 0 {
		one := func(i int) string {
			return fmt.Sprintf("%s ± %.1f %%", report.Duration(k.Entry.Time[i]), 100*k.Spread[i])
		}
		if k.Before = one(0); k.Recipe != "" {
			k.After, k.Up, k.Bar = one(1), fmt.Sprintf("%.2f", k.SpeedUp), bar(k.Ratio)
		}
	}
	k.Registers = change(fmt.Sprint(ev.Default.Registers), fmt.Sprint(ev.Chosen.Registers), k.Recipe)
	if k.Occupancy[0] > 0 {
		k.Warps = change(percent(k.Occupancy[0]), percent(k.Occupancy[1]), k.Recipe)
	}
}

// detail is what stands in a kernel's own section.
func (k *kernel) detail(in Input) {
	d := k.Decision
	if k.Recipe != "" {
		k.Checked = report.CheckedText(k.Entry)
	}
	for _, l := range d.Evidence.Launches {
		k.Rows = append(k.Rows, row{Shape: policy.ShapeMeasured(l).String(), Before: interval(l.Before),
			After: interval(l.After), SpeedUp: times(l.Before.Median, l.After.Median), Launches: l.Count,
			Checked: l.Checked, Values: report.Values(l.Values)})
	}
	k.Refused, k.RefusedAll = refusals(k.Entry)
	if p, ok := residencyPicture(k.Entry); ok {
		k.Pictures = append(k.Pictures, p)
	}
}

func state(e report.Entry) string {
	switch {
	case e.Decision.Pinned:
		return "pinned"
	case e.Decision.Predicted:
		return "predicted"
	case e.Recipe != "":
		return "faster"
	case len(e.Decision.Evidence.Launches) > 0:
		return "same"
	}
	return "alone"
}

// refusals groups the candidates that were refused by their reason's first words, and gives the
// first one's in full.
func refusals(e report.Entry) ([]reason, int) {
	by := map[string]*reason{}
	all := 0
	for _, t := range e.Decision.Evidence.Tried {
		if t.Refused == "" {
			continue
		}
		all++
		text, _, _ := strings.Cut(t.Refused, ":")
		text, _, _ = strings.Cut(text, " (")
		if by[text] == nil {
			by[text] = &reason{Text: e.Refusal(t), Example: t.Recipe}
		}
		by[text].Count++
	}
	var out []reason
	for _, r := range by {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b reason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
	})
	return out[:min(len(out), mostRefused)], all
}

// names lists what is known, or says what is not.
func names(set map[string]bool, what string) string {
	delete(set, "")
	if len(set) == 0 {
		return what + " not known"
	}
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}

func interval(t cache.Time) string {
	if t.N == 0 || t.Median <= 0 {
		return "-"
	}
	return fmt.Sprintf("%s [%s, %s]", report.Duration(t.Median), report.Duration(t.Low),
		report.Duration(t.High))
}

func times(before, after float64) string {
	if before <= 0 || after <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", before/after)
}

func change(a, b, recipe string) string {
	if recipe == "" || a == b {
		return a
	}
	return a + " → " + b
}

func percent(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) }
