package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"gnvcc/cache"
	"gnvcc/policy"
)

// The report's first screen: what became faster, sorted by the time that it saves, in lines of 80
// columns. A kernel has a line of figures; what it is built with stands below, where it may be
// long.

// columns is how wide the report is.
const columns = 80

// listed is how many kernels without a recipe are named; a page has all.
const listed = 8

// row is the format of a line of figures: 80 columns.
const row = "%s %9s %6s %9s %9s %12s"

// nameWidth is what is left of it for a name.
const nameWidth = columns - 5 - 9 - 6 - 9 - 9 - 12

func (p *printer) table(entries []Entry) {
	pinned, predicted, entries := unmeasured(entries)
	faster, same, alone := split(entries)
	measured := slices.Concat(faster, same)
	before, after := 0.0, 0.0
	for _, e := range measured {
		before += e.total
		after += e.total * e.Ratio
	}
	several := severalOf(slices.Concat(pinned, predicted, faster, same, alone))
	p.faster(faster, several, before)
	if before > 0 {
		p.line("%s", strings.TrimRight(fmt.Sprintf(row, padded(fmt.Sprintf("all %d measured",
			len(measured)), nameWidth), Duration(before), "", Duration(before-after),
			fmt.Sprintf("%.2fx", before/after), ""), " "))
	}
	if len(faster) > 0 {
		product := 1.0
		for _, e := range faster {
			product *= e.SpeedUp
		}
		p.line("")
		text := fmt.Sprintf("%d of %d kernels measured are faster: %.2fx in geometric mean", len(faster),
			len(measured), geomean(product, len(faster)))
		if before > 0 {
			text += fmt.Sprintf(", %.2fx over the time of all kernels measured", before/after)
		}
		p.filled("", text+".")
	}
	p.proposed(faster)
	p.best(same, several)
	p.given("Pinned, not measured:", pinned, several)
	p.given("Predicted, not measured; used only by builds with GNVCC_PREDICT=1:", predicted, several)
	recipes := slices.Concat(pinned, predicted, faster)
	p.section("Hints in the source that recipes override:", recipes, func(e Entry) string {
		if len(e.Decision.Evidence.Outvoted) == 0 {
			return ""
		}
		return e.Kernel + ": " + outvoted(e)
	})
	p.imported(entries)
	p.section("Not used in builds:", recipes, func(e Entry) string {
		if e.Untaken == "" {
			return ""
		}
		return fmt.Sprintf("%s: %s: %s", e.Kernel, e.Recipe, e.Untaken)
	})
	p.section("From shared stores:", slices.Concat(pinned, faster, same), func(e Entry) string {
		if e.Decision.From == "" {
			return ""
		}
		return e.Kernel + ": " + e.Decision.From
	})
	p.leftAlone(alone, several)
}

// faster prints the kernels that have a recipe, a line of figures each and the recipe below.
func (p *printer) faster(list []Entry, several map[string]bool, before float64) {
	if len(list) == 0 {
		return
	}
	p.line(row, padded("kernel", nameWidth), "time", "share", "saved", "speed-up", "registers")
	for _, e := range list {
		p.line(row, padded(policy.Shorten(e.Kernel, nameWidth), nameWidth), Duration(e.total),
			Share(e.total, before), Duration(e.gained()), fmt.Sprintf("%.2fx", e.SpeedUp), registersOf(e))
		if several[e.Kernel] {
			p.filled("    ", e.Where())
		}
		p.filled("    ", e.Words)
		p.filled("    ", measuredText(e))
	}
}

// proposed says how many recipes no run of the program was compared with yet.
func (p *printer) proposed(faster []Entry) {
	n := 0
	for _, e := range faster {
		if e.Decision.Proposed() {
			n++
		}
	}
	if n > 0 {
		p.filled("", fmt.Sprintf("%s proposed: the next gnvcc tune --confirm -- ./app compares the program with nvcc's own code.",
			map[bool]string{true: "One recipe is", false: fmt.Sprintf("%d recipes are", n)}[n == 1]))
	}
}

// measuredText is how a recipe was measured and checked.
func measuredText(e Entry) string {
	text := CheckedText(e)
	if e.Time[0] > 0 {
		one := func(i int) string {
			return fmt.Sprintf("%s %s%.1f%%", Duration(e.Time[i]), PlusMinus, 100*e.Spread[i])
		}
		text = fmt.Sprintf("%s -> %s a launch, %s; ", one(0), one(1), policy.Count(e.Launches, "launch")) + text
	}
	if a, b := percent(e.Occupancy[0]), percent(e.Occupancy[1]); a != b {
		text += fmt.Sprintf("; occupancy %s -> %s", a, b)
	}
	if of := e.Decision.Evidence.Program; of != nil && of.TakenBack == "" && of.Recipe == e.Recipe {
		text += fmt.Sprintf("; promised %.2f, in the program %.2f", of.Promised, of.Gain)
	}
	return text
}

// severalOf returns which names several kernels have.
func severalOf(list []Entry) map[string]bool {
	type kernel struct{ identity, place string }
	of := map[string]kernel{}
	out := map[string]bool{}
	for _, e := range list {
		k := kernel{e.Decision.Identity, e.place.String()}
		if first, known := of[e.Kernel]; known && first != k {
			out[e.Kernel] = true
		}
		of[e.Kernel] = k
	}
	return out
}

// label is a kernel's name, with where it is from if others have the name too.
func label(e Entry, several map[string]bool) string {
	if several[e.Kernel] && e.place.String() != "" {
		return e.Kernel + " (" + e.place.String() + ")"
	}
	return e.Kernel
}

// best lists what nvcc builds best.
func (p *printer) best(list []Entry, several map[string]bool) {
	if len(list) == 0 {
		return
	}
	p.line("")
	p.line("No faster recipe than nvcc's default:")
	rest, time := 0, 0.0
	for i, e := range list {
		if i >= listed {
			rest++
			time += e.total
			continue
		}
		note := Unmeasured(&e.Decision.Evidence)
		if n := e.Decision.Evidence.Note; n != "" {
			note += "; " + n
		}
		p.filled("  ", fmt.Sprintf("%s (%s a launch, %d registers; %s)%s", label(e, several),
			Duration(e.Time[0]), e.Decision.Evidence.Default.Registers, attempts(e), note))
	}
	if rest > 0 {
		p.line("  and %d more, %s together (gnvcc report --html FILE lists them)", rest, Duration(time))
	}
}

// Unmeasured says how much of a kernel's time was not measured, "" where that is little.
func Unmeasured(e *cache.Evidence) string {
	all, _ := e.Whole()
	if e.Rest == nil || e.Rest.Others < 0.01*all {
		return ""
	}
	return "; launches with " + part(e.Rest.Others, all) + " of its time were not measured"
}

// leftAlone lists kernels of which nothing was measured, by reason.
func (p *printer) leftAlone(list []Entry, several map[string]bool) {
	if len(list) == 0 {
		return
	}
	p.line("")
	p.line("Left alone:")
	of := map[string][]string{}
	var reasons []string
	for _, e := range list {
		why := cmp.Or(e.Decision.Evidence.Note, "no launch was measured")
		if of[why] == nil {
			reasons = append(reasons, why)
		}
		of[why] = append(of[why], label(e, several))
	}
	for _, why := range reasons {
		names := of[why]
		if n := len(names); n > listed {
			names = append(names[:listed:listed], fmt.Sprintf("%d more", n-listed))
		}
		p.filled("  ", strings.Join(names, ", ")+": "+why)
	}
}

// imported says which files decisions were taken over from.
func (p *printer) imported(entries []Entry) {
	files := map[string]int{}
	for _, e := range entries {
		if e.Decision.Imported != "" {
			files[e.Decision.Imported]++
		}
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		p.line("")
		p.filled("", fmt.Sprintf("Of these, %d were measured elsewhere and imported from %s.",
			files[file], file))
	}
}

// given prints recipes that were not measured, each once with the targets that it is for.
func (p *printer) given(title string, list []Entry, several map[string]bool) {
	name := func(e Entry) string { return fmt.Sprintf("%s: %s: %s", label(e, several), e.Recipe, e.Words) }
	targets := map[string][]string{}
	for _, e := range list {
		targets[name(e)] = append(targets[name(e)], e.Decision.Target+": "+registersOf(e)+" registers")
	}
	p.section(title, list, func(e Entry) (text string) {
		if of := targets[name(e)]; of != nil {
			text = name(e) + " (" + strings.Join(of, ", ") + ")"
		}
		delete(targets, name(e))
		return text
	})
}

// section prints a title, and a paragraph for each entry that has a text.
func (p *printer) section(title string, entries []Entry, text func(Entry) string) {
	for _, e := range entries {
		if text := text(e); text != "" {
			if title != "" {
				p.line("")
				p.line("%s", title)
				title = ""
			}
			p.filled("  ", text)
		}
	}
}

// attempts sums up what was tried in vain.
func attempts(e Entry) string {
	n, other := len(e.Decision.Evidence.Tried), 0
	for _, t := range e.Decision.Evidence.Tried {
		if t.Because == cache.OtherBits {
			other++
		}
	}
	text := policy.Count(n, "candidate")
	if other > 0 {
		text += fmt.Sprintf(", %d with different bits", other)
	}
	return text
}

// padded fills a text up with blanks.
func padded(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}
