package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
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
	Decisions []cache.Decision
	Programs  []Program
	Toolkit   func(cache.Decision) string // "ptxas 13.0.88", "" where it is not known; may be nil
	Patch     func(cache.Decision) string // the recipe as source, or why there is none; may be nil
	Version   string                      // of gnvcc
	Title     string                      // "gnvcc explain wave"; "": a report
	Made      time.Time
	Place     func(cache.Decision) report.Place // where a kernel comes from; nil: not asked
	Untaken   func(cache.Decision) error        // why no build takes a recipe; nil: not asked

	// kernels that were built and that nothing was decided for
	Undecided []cache.Decision
	// what machine code tells of a kernel; may be nil, and give nil
	Predicted func(cache.Decision) *Predicted
}

// A Program is what one program does on the GPU.
type Program struct {
	Name    string
	Device  string
	Seconds float64        // on the GPU, in the runs observed
	Faster  float64        // of these, in kernels that have a recipe
	After   float64        // seconds that all would take by the decisions' ratios
	Pieces  []policy.Piece // of it, by kernel
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
	ID         string // of its section
	Drawn      bool
	Name       string
	Mangled    string
	State      string // "faster", "same", "pinned", "predicted", "alone", "not tuned"
	Recipe     string
	Words      string
	Why        string
	Checked    string
	Note       string
	Untaken    string // why no build takes the recipe
	Imported   string // the file that it was taken over from
	Device     string
	Toolkit    string
	Date       string
	Place      string  // file and program, where several kernels have its name
	Total      float64 // ns, all launches
	Time       string  // it, for people
	Share      string  // of the time of all kernels measured
	ratio      float64 // of it that is left
	Before     string
	After      string
	SpeedUp    string
	Launches   int
	Bar        template.HTML
	Registers  string
	Occupancy  string
	Rows       []row
	Pictures   []picture
	Refused    []reason
	RefusedAll int
	Tried      int
	Levers     []report.Single
	Patch      string
	Predicted  *prediction
}

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
	searched := in.Title == "" && len(kernels) > 8
	if in.Title == "" {
		in.Title = "gnvcc report"
	}
	counts := map[string]int{}
	devices, toolkits, imported := map[string]bool{}, map[string]bool{}, map[string]bool{}
	before, after := 0.0, 0.0
	for _, d := range kernels {
		counts[d.State]++
		devices[d.Device], toolkits[d.Toolkit] = true, true
		if d.Imported != "" {
			counts["imported"]++
			imported[d.Imported] = true
		}
		before += d.Total
		after += d.Total * d.ratio
	}
	for i := range kernels {
		kernels[i].Share = report.Share(kernels[i].Total, before)
	}
	return t.Execute(w, map[string]any{
		"CSS": template.CSS(css), "In": in, "Title": in.Title, "Kernels": kernels,
		"Searched": searched, "Counts": counts,
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
	all := in.entries()
	out := make([]kernel, 0, len(all))
	for i, e := range all {
		k := summary(in, e)
		k.ID = fmt.Sprintf("k%d", i+1)
		if k.Drawn = i < drawn; k.Drawn {
			detail(in, e, &k)
		}
		out = append(out, k)
	}
	for _, d := range in.Undecided {
		k := kernel{ID: fmt.Sprintf("k%d", len(out)+1), Drawn: true, Name: policy.ShortName(d.Kernel),
			Mangled: d.Kernel, State: "not tuned",
			Why: "Not tuned yet: nothing was measured.", Time: "-", Before: "-", After: "-", SpeedUp: "-",
			Registers: fmt.Sprint(d.Evidence.Default.Registers)}
		if in.Predicted != nil {
			k.Predicted = newPredicted(in.Predicted(d))
		}
		out = append(out, k)
	}
	named := map[string]int{}
	for _, k := range out {
		named[k.Name]++
	}
	for i, k := range out {
		if named[k.Name] < 2 {
			out[i].Place = ""
		}
	}
	return out
}

// entries sums decisions up, those that take most time first.
func (in Input) entries() []report.Entry {
	all := make([]report.Entry, 0, len(in.Decisions))
	for _, d := range in.Decisions {
		all = append(all, report.Options{Untaken: in.Untaken, Place: in.Place}.Entry(d))
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Total() > all[j].Total() })
	return all
}

// summary is what stands in the table.
func summary(in Input, e report.Entry) kernel {
	d := e.Decision
	ev := &d.Evidence
	k := kernel{Name: e.Kernel, Mangled: d.Kernel, State: state(e), Recipe: e.Recipe, Words: e.Words,
		Note: ev.Note, Untaken: e.Untaken, Imported: d.Imported,
		Device: ev.Device, Date: d.Time.Format("2006-01-02 15:04"), Total: e.Total(), ratio: e.Ratio,
		Launches: e.Launches, Why: Why(e), Place: e.Where(),
		Time: report.Duration(e.Total()), Before: "-", After: "-", SpeedUp: "-"}
	if in.Toolkit != nil {
		k.Toolkit = in.Toolkit(*d)
	}
	if len(ev.Launches) > 0 && e.Time[0] > 0 {
		k.Before = fmt.Sprintf("%s ± %.1f %%", report.Duration(e.Time[0]), 100*e.Spread[0])
		if e.Recipe != "" {
			k.After = fmt.Sprintf("%s ± %.1f %%", report.Duration(e.Time[1]), 100*e.Spread[1])
			k.SpeedUp = fmt.Sprintf("%.2f", e.SpeedUp)
			k.Bar = bar(e.Ratio)
		}
	}
	k.Registers = change(fmt.Sprint(ev.Default.Registers), fmt.Sprint(ev.Chosen.Registers), e.Recipe)
	if e.Occupancy[0] > 0 {
		k.Occupancy = change(percent(e.Occupancy[0]), percent(e.Occupancy[1]), e.Recipe)
	}
	return k
}

// detail is what stands in a kernel's own section.
func detail(in Input, e report.Entry, k *kernel) {
	d := e.Decision
	if e.Recipe != "" {
		k.Checked = report.CheckedText(e)
	}
	for _, l := range d.Evidence.Launches {
		r := row{Shape: policy.ShapeMeasured(l).String(), Before: interval(l.Before),
			After: interval(l.After), SpeedUp: times(l.Before.Median, l.After.Median), Launches: l.Count,
			Checked: l.Checked}
		for _, name := range slices.Sorted(maps.Keys(l.Values)) {
			if r.Values != "" {
				r.Values += ", "
			}
			r.Values += name + " = " + l.Values[name]
		}
		k.Rows = append(k.Rows, r)
	}
	k.Tried = len(d.Evidence.Tried)
	k.Levers = e.Levers
	k.Refused, k.RefusedAll = refusals(d.Evidence.Tried)
	k.Pictures = pictures(e)
	if in.Predicted != nil {
		k.Predicted = newPredicted(in.Predicted(*d))
	}
	if in.Patch != nil && e.Recipe != "" {
		k.Patch = in.Patch(*d)
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

// refusals groups the candidates that were refused by their reason's first words, and tells the
// first one's in full.
func refusals(tried []cache.Trial) ([]reason, int) {
	by := map[string]*reason{}
	all := 0
	for _, t := range tried {
		if t.Refused == "" {
			continue
		}
		all++
		text, _, _ := strings.Cut(t.Refused, ":")
		text, _, _ = strings.Cut(text, " (")
		if by[text] == nil {
			by[text] = &reason{Text: t.Refused, Example: t.Recipe}
		}
		by[text].Count++
	}
	var out []reason
	for _, r := range by {
		out = append(out, *r)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Count != out[j].Count {
			return out[i].Count > out[j].Count
		}
		return out[i].Text < out[j].Text
	})
	return out[:min(len(out), mostRefused)], all
}

// names lists what is known, or says what is not.
func names(set map[string]bool, what string) string {
	delete(set, "")
	var list []string
	for name := range set {
		list = append(list, name)
	}
	sort.Strings(list)
	if len(list) == 0 {
		return what + " not known"
	}
	return strings.Join(list, ", ")
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
