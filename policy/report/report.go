package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/check"
	"gnvcc/policy/lever"
	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// The report: what is believed of each kernel, from decisions alone, so that it can be asked for at
// any time. Text without colours or control characters: it goes through pipes as it is.

// Options say what to show.
type Options struct {
	Untaken func(cache.Decision) error // why no build takes a recipe; nil: not asked
	Place   func(cache.Decision) Place // where a kernel comes from; nil: not asked
	// where in the source a term of a recipe acts ("loop at k.cu:31"), "" where that is not known; nil:
	// not asked
	Site func(cache.Decision, recipe.Term) string
}

// A Place tells kernels of one name apart: files and programs as people find them, "" where they
// are not known.
type Place struct{ File, Program string }

// String is it for people.
func (p Place) String() string {
	switch {
	case p.Program == "":
		return p.File
	case p.File == "":
		return p.Program
	}
	return p.File + ", " + p.Program
}

// Entry sums a decision up, with what the options say of it.
func (o Options) Entry(d cache.Decision) Entry {
	e := summed(d)
	if o.Site != nil {
		e.site = func(t recipe.Term) string { return o.Site(d, t) }
	}
	e.Levers = e.singles()
	if o.Untaken != nil {
		if err := o.Untaken(d); err != nil {
			e.Untaken = Refusal(d.Recipe, err.Error(), e.site)
		}
	}
	if o.Place != nil {
		e.place = o.Place(d)
		e.File, e.Program = e.place.File, e.place.Program
	}
	return e
}

// Where tells kernels of one name apart: by file and program, else by a word for gnvcc explain.
func (e Entry) Where() string {
	if place := e.place.String(); place != "" {
		return "in " + place
	}
	id := e.Decision.Identity
	return "not built here: identity " + id[:min(8, len(id))]
}

// An Entry is one kernel of a report.
type Entry struct {
	Kernel string `json:"kernel"` // as people write it
	Recipe string `json:"recipe"`
	Words  string `json:"words"`
	// time over the default's, all launches together; 1 without a recipe, 0: nobody has measured it (a pin)
	Ratio   float64 `json:"ratio,omitempty"`
	SpeedUp float64 `json:"speedUp,omitempty"` // its inverse
	// default and chosen, at the shape that takes most time; 0: not known
	Occupancy [2]float64 `json:"occupancy"`
	Checked   int        `json:"checked"` // launches compared
	// launches compared with other floating-point data than the program's
	Varied   int `json:"varied"`
	Launches int `json:"launches"`
	// a launch, default and chosen, mean over the launches
	Time [2]float64 `json:"timeNs,omitzero"`
	// half of the 95 % interval, relative, worst configuration
	Spread   [2]float64      `json:"spread"`
	Levers   []Single        `json:"levers,omitempty"`  // what each gives alone
	L1       *L1             `json:"l1,omitempty"`      // how it takes to L1, where that was measured
	Untaken  string          `json:"untaken,omitempty"` // why no build takes the recipe
	File     string          `json:"file,omitempty"`    // that it was compiled from
	Program  string          `json:"program,omitempty"` // that was seen to launch it
	Decision *cache.Decision `json:"decision"`

	total float64 // default time of all launches, ns
	place Place
	site  func(recipe.Term) string // nil: not asked
}

// NewEntry sums a decision up.
func NewEntry(d cache.Decision) Entry { return Options{}.Entry(d) }

func summed(d cache.Decision) Entry {
	k := &policy.Kernel{Name: d.Kernel, Short: policy.ShortName(d.Kernel), Names: d.Evidence.Names}
	r, err := recipe.Parse(d.Recipe)
	e := Entry{Kernel: k.Short, Recipe: d.Recipe, Ratio: 1, Decision: &d, L1: l1(&d)}
	if err != nil {
		e.Words = "a recipe of another version of gnvcc"
	} else {
		e.Words = lever.Words(k, r)
	}
	before, after, heaviest := 0.0, 0.0, -1.0 // before, after: in replays
	for _, l := range d.Evidence.Launches {
		n := float64(max(l.Count, 1))
		before += n * l.Before.Median
		after += n * l.After.Median
		e.Launches += l.Count
		e.Checked += l.Checked
		e.Varied += l.Varied
		e.Spread[0] = math.Max(e.Spread[0], spread(l.Before))
		e.Spread[1] = math.Max(e.Spread[1], spread(l.After))
		if t := n * l.Before.Median; t > heaviest {
			heaviest = t
			e.Occupancy[0] = occupancy(d.Target, d.Evidence.Default, l)
			l = Launched(r, l)
			e.Occupancy[1] = occupancy(d.Target, d.Evidence.Chosen, l)
			if n := rewrite.Throttle(r); n > 0 {
				e.Occupancy[1] = math.Min(e.Occupancy[1], share(d.Target, n, l))
			}
		}
	}
	if l := d.Evidence.Locked; l != nil {
		e.Checked, e.Varied = l.Checks, l.Varied
	}
	seconds, _ := d.Evidence.Whole()
	e.total = seconds * 1e9
	if e.Ratio = d.Evidence.Ratio(); d.Pinned && len(d.Evidence.Launches) == 0 {
		e.Ratio = 0
	}
	if before > 0 {
		n := 0.0
		for _, l := range d.Evidence.Launches {
			n += float64(max(l.Count, 1))
		}
		e.Time = [2]float64{before / n, after / n}
	}
	if e.Ratio > 0 {
		e.SpeedUp = 1 / e.Ratio
	}
	return e
}

func spread(t cache.Time) float64 {
	if t.Median <= 0 {
		return 0
	}
	return (t.High - t.Low) / 2 / t.Median
}

// occupancy is the share of warp slots in use, 0 if the target is not known.
func occupancy(target string, b cache.Build, l cache.Launch) float64 {
	d, ok := deviceOf(target)
	if !ok {
		return 0
	}
	return d.Fraction(d.Occupancy(b.Registers, policy.ShapeMeasured(l).Sim(b)))
}

// share is the share of warp slots that so many blocks of a launch take, 1 if the target is not
// known.
func share(target string, blocks int, l cache.Launch) float64 {
	d, ok := deviceOf(target)
	if !ok {
		return 1
	}
	return float64(
		blocks*sim.Shape{Threads: policy.Shape{Block: l.Block}.Threads()}.WarpsPerBlock()) / float64(
		d.Warps)
}

// deviceOf looks a target such as "sm_90a" up.
func deviceOf(target string) (sim.Device, bool) {
	return sim.Lookup(ptx.Capability(target))
}

// gained is the time that the recipe saves over all launches, ns.
func (e Entry) gained() float64 { return e.total * (1 - e.Ratio) }

// Share is the part of a time that a kernel takes, for people.
func Share(part, whole float64) string {
	switch {
	case whole <= 0 || part <= 0:
		return "-"
	case part < 0.0095*whole:
		return "< 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*part/whole)
}

// byGain orders entries: what saves most time first, then what takes most.
func byGain(entries []Entry) {
	sort.SliceStable(entries, func(i, j int) bool {
		a, b := entries[i], entries[j]
		return cmp.Or(cmp.Compare(b.gained(), a.gained()), cmp.Compare(b.total, a.total),
			cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.File, b.File),
			cmp.Compare(a.Decision.Identity, b.Decision.Identity)) < 0
	})
}

// Entries sums decisions up, by the time that they save.
func (o Options) Entries(decisions []cache.Decision) []Entry {
	entries := []Entry{}
	for _, d := range decisions {
		entries = append(entries, o.Entry(d))
	}
	byGain(entries)
	return entries
}

// Write writes decisions as a table. Kernels whose recipes save most time stand first.
func Write(w io.Writer, decisions []cache.Decision, o Options) error {
	p := &printer{w: w}
	if len(decisions) == 0 {
		p.line("nothing decided yet: gnvcc tune -- ./app finds recipes for a program built with gnvcc")
	} else {
		entries := o.Entries(decisions)
		p.table(entries)
		p.classes(entries)
	}
	return p.err
}

// registersOf are those of nvcc's own build and of the recipe's; a lock file does not carry them.
func registersOf(e Entry) string {
	if e.Decision.Evidence.Locked != nil {
		return "-"
	}
	return arrow(fmt.Sprint(e.Decision.Evidence.Default.Registers),
		fmt.Sprint(e.Decision.Evidence.Chosen.Registers))
}

// unmeasured sorts out the entries whose recipes the user gave, and those that were predicted.
func unmeasured(entries []Entry) (pinned, predicted, rest []Entry) {
	for _, e := range entries {
		switch {
		case e.Decision.Pinned:
			pinned = append(pinned, e)
		case e.Decision.Predicted:
			predicted = append(predicted, e)
		default:
			rest = append(rest, e)
		}
	}
	return pinned, predicted, rest
}

// split sorts entries into those with a recipe, those measured without, and those left alone.
func split(entries []Entry) (faster, same, alone []Entry) {
	for _, e := range entries {
		switch {
		case e.Recipe != "":
			faster = append(faster, e)
		case len(e.Decision.Evidence.Launches) > 0:
			same = append(same, e)
		default:
			alone = append(alone, e)
		}
	}
	return faster, same, alone
}

// PlusMinus stands in front of half an interval; a terminal without UTF-8 wants another one.
var PlusMinus = "±"

// Total is the default's time of all launches seen, ns.
func (e Entry) Total() float64 { return e.total }

// serves says which launches a recipe is for that is for some grids alone: by their integer
// arguments, of one entry after the other; "" for others.
func serves(d *cache.Decision) string {
	r, err := recipe.Parse(d.Recipe)
	guards, other := r.Guards()
	if err != nil || other != nil {
		return ""
	}
	var out []string
	for _, g := range guards {
		if g.Grid() == [3]int{} {
			return ""
		}
		var words []string
		for _, c := range g.Conditions {
			if c.Kind == recipe.Argument || c.Kind == recipe.HostArgument {
				name := c.Of.String()
				words = append(words, cmp.Or(d.Evidence.Names[name], name)+"="+c.Text())
			}
		}
		if len(words) == 0 {
			words = []string{"the grid and block of a checked launch"}
		}
		if text := strings.Join(words, ", "); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, " or ")
}

// CheckedText says on what the results were compared: "same bits on 5 launches".
func CheckedText(e Entry) string {
	on := policy.Count(e.Checked, "launch")
	if e.Varied > 0 {
		on += fmt.Sprintf(" and %d with varied data", e.Varied)
	}
	switch {
	case e.Decision.Pinned:
		return "pinned, not measured, checked on no launches"
	case e.Decision.Predicted:
		return "predicted, not measured: exact by construction, checked on no launches"
	case e.Decision.Evidence.Unsteady != "":
		return "exact by construction, results not compared: " + e.Decision.Evidence.Unsteady + "; no arithmetic was changed"
	case e.Decision.Exactness == rewrite.ByConstruction.String() && e.Checked == 0:
		return "exact by construction, results not compared"
	case e.Decision.Exactness == rewrite.ByConstruction.String():
		return "exact by construction; same bits on " + on
	case e.Decision.Exactness != rewrite.Checked.String():
		return "within the bound on " + on
	}
	if why := check.Sentence(e.Decision.Evidence.Launches, e.Varied, serves(e.Decision)); why != "" &&
		e.Decision.Evidence.Locked == nil {
		on += " (" + why + ")"
	}
	return "same bits on " + on
}
