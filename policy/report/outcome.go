package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gnvcc/policy"
)

// What a run of tune gave: a table of the kernels that were searched, one sentence for the program,
// and what was left alone, by reason and share of the time.

const (
	// rows of kernels and reasons that are listed; the rest is summed up
	mostRows, mostReasons = 12, 6
	// kernels named for one reason
	mostNamed = 3
)

// An Outcome is what is known at the end of a run.
type Outcome struct {
	Parts   []policy.Piece
	Words   map[string]string // the recipe that was found, by kernel, in words
	Verbose bool              // list every kernel, those of libraries, too
}

// String is "" where no time was seen.
func (o Outcome) String() string {
	var all, searched, cut, after float64
	for _, p := range o.Parts {
		all, after = all+p.Seconds, after+p.After
		if p.Why == "" {
			searched += p.Seconds
		}
		if p.Cut {
			cut += p.Seconds
		}
	}
	if !(all > 0) {
		return ""
	}
	var b strings.Builder
	p := &printer{w: &b}
	if searched > 0 {
		o.table(p, all)
		p.line("")
	}
	text := fmt.Sprintf("GPU time: %s, of which %s was searched", Duration(all*1e9), part(searched, all))
	if cut > 0.0005*all {
		text += fmt.Sprintf(" (%s not completely%s: a longer --budget or another run continues)",
			part(cut, all), notTried(o.Parts))
	}
	if gained := all - after; gained < 0.0005*all {
		text += "; no faster recipe was found."
	} else {
		text += fmt.Sprintf("; with the recipes %s, %.2f times as fast.", Duration(after*1e9), all/after)
	}
	p.filled("", text)
	o.leftAlone(p, all)
	return b.String()
}

// notTried says how many candidates budgets left over, and of which kernels most.
func notTried(parts []policy.Piece) string {
	all, most := 0, policy.Piece{}
	for _, p := range policy.ByTime(parts) {
		if all += p.Left; p.Left > most.Left {
			most = p
		}
	}
	switch {
	case all == 0:
		return ""
	case all == most.Left:
		return fmt.Sprintf(", %s of %s not tried", policy.Count(all, "candidate"), most.Kernel)
	}
	return fmt.Sprintf(", %s not tried, %d of them of %s", policy.Count(all, "candidate"), most.Left,
		most.Kernel)
}

// table has a line of figures for each kernel that was searched, and its recipe below.
func (o Outcome) table(p *printer, all float64) {
	const row, width = "%s %6s %9s %9s %9s", columns - 4 - 6 - 3*9
	list := policy.ByTime(o.Parts)
	list = slices.DeleteFunc(list, func(x policy.Piece) bool { return x.Why != "" })
	p.line(row, padded("kernel", width), "share", "before", "after", "speed-up")
	names := shortest(list)
	for i, x := range list {
		if i == mostRows && !o.Verbose {
			p.line("and %s (-v lists them)", policy.Count(len(list)-i, "more kernel"))
			break
		}
		up := "-"
		if x.After > 0 && x.After < x.Seconds {
			up = fmt.Sprintf("%.2fx", x.Seconds/x.After)
		}
		p.line(row, padded(policy.Shorten(names[i], width), width), part(x.Seconds, all),
			Duration(x.Seconds*1e9), Duration(x.After*1e9), up)
		if words := o.Words[x.Kernel]; words != "" {
			p.filled("    ", words)
		}
	}
}

// leftAlone lists the reasons, those with most time first, and the kernels of each.
func (o Outcome) leftAlone(p *printer, all float64) {
	by := map[string][]policy.Piece{}
	var reasons []policy.Piece
	for _, x := range policy.ByTime(o.Parts) {
		if x.Why == "" || x.Seconds <= 0 {
			continue
		}
		by[x.Why] = append(by[x.Why], x)
		i := slices.IndexFunc(reasons, func(r policy.Piece) bool { return r.Why == x.Why })
		if i < 0 {
			reasons = append(reasons, x)
		} else {
			reasons[i].Seconds += x.Seconds
		}
	}
	if len(reasons) == 0 {
		return
	}
	slices.SortStableFunc(reasons, func(a, b policy.Piece) int { return cmp.Compare(b.Seconds, a.Seconds) })
	p.line("")
	p.line("Left alone:")
	rest, kernels := 0.0, 0
	for i, r := range reasons {
		if i >= mostReasons && !o.Verbose {
			rest, kernels = rest+r.Seconds, kernels+len(by[r.Why])
			continue
		}
		p.filled("  ", fmt.Sprintf("%s: %s: %s", part(r.Seconds, all), r.Why, o.named(by[r.Why], all)))
	}
	if kernels > 0 {
		p.line("  %s: %s for other reasons (-v lists them)", part(rest, all), policy.Count(kernels, "kernel"))
	}
}

// named names the kernels of one reason. Those of a library stand together, with their share.
func (o Outcome) named(list []policy.Piece, all float64) string {
	type library struct {
		name    string
		kernels int
		seconds float64
	}
	var libraries []library
	var own []policy.Piece
	for _, x := range list {
		name := libraryOf(x.Kernel)
		if name == "" || o.Verbose {
			own = append(own, x)
			continue
		}
		i := slices.IndexFunc(libraries, func(l library) bool { return l.name == name })
		if i < 0 {
			i, libraries = len(libraries), append(libraries, library{name: name})
		}
		libraries[i].kernels++
		libraries[i].seconds += x.Seconds
	}
	var out []string
	for _, l := range libraries {
		out = append(out, fmt.Sprintf("%s of %s (%s)", policy.Count(l.kernels, "kernel"), l.name,
			part(l.seconds, all)))
	}
	names := shortest(own)
	if len(own) > mostNamed && !o.Verbose {
		names = append(names[:mostNamed], fmt.Sprintf("%d more", len(own)-mostNamed))
	}
	for _, name := range names {
		out = append(out, policy.Shorten(name, columns-20))
	}
	return strings.Join(out, ", ")
}

// part is a share with a digit where it tells something: 99.96 % is not all.
func part(some, all float64) string {
	switch share := 100 * some / all; {
	case some <= 0:
		return "nothing"
	case share > 99.95 && some < all*(1-1e-9):
		return "nearly all"
	case share < 0.05:
		return "< 0.1 %"
	default:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", share), ".0") + " %"
	}
}

// libraryOf names the library that a kernel is from, by its name; "" for a program's own.
func libraryOf(kernel string) string {
	for _, l := range [][2]string{{"at::", "PyTorch"}, {"c10::", "PyTorch"}, {"torch::", "PyTorch"},
		{"cub::", "CUB"}, {"thrust::", "Thrust"}, {"cutlass::", "CUTLASS"}, {"cutlass_", "CUTLASS"},
		{"cublas", "cuBLAS"}, {"gemv2", "cuBLAS"}, {"gemvNSP", "cuBLAS"}, {"splitKreduce", "cuBLAS"},
		{"cudnn", "cuDNN"}, {"cusparse", "cuSPARSE"}, {"cusolver", "cuSOLVER"}, {"nccl", "NCCL"},
		{"regular_fft", "cuFFT"}, {"vector_fft", "cuFFT"}, {"triton_", "Triton"}} {
		if strings.HasPrefix(kernel, l[0]) {
			return l[1]
		}
	}
	for _, chip := range []string{"volta_", "turing_", "ampere_", "sm80_", "sm86_", "sm90_", "sm100_"} {
		if strings.HasPrefix(kernel, chip) && strings.Contains(kernel, "gemm") {
			return "cuBLAS"
		}
	}
	return ""
}

// shortest are the kernels' names, each as short as tells it from the others: without namespaces
// and template arguments, without namespaces, or whole.
func shortest(list []policy.Piece) []string {
	forms := [...]func(string) string{
		func(name string) string { base, _, _ := strings.Cut(name, "<"); return unqualified(base) },
		unqualified, strings.Clone}
	out := make([]string, len(list))
	for _, form := range forms {
		count := map[string]int{}
		for _, x := range list {
			count[form(x.Kernel)]++
		}
		for i, x := range list {
			if name := form(x.Kernel); out[i] == "" && name != "" && count[name] == 1 {
				out[i] = name
			}
		}
	}
	for i, x := range list { // of one name with several reasons, say
		out[i] = cmp.Or(out[i], x.Kernel)
	}
	return out
}

// unqualified takes the namespaces from all names in a name.
func unqualified(name string) string {
	var b strings.Builder
	for word := range strings.SplitAfterSeq(name, "::") {
		if rest, ok := strings.CutSuffix(word, "::"); ok {
			word = rest[:strings.LastIndexAny(rest, "<,( ")+1]
		}
		b.WriteString(word)
	}
	return b.String()
}
