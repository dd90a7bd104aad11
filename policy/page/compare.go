package page

import (
	"fmt"
	"io"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy/report"
	"gnvcc/rewrite/ptx"
)

// What has changed since an earlier report.

// Compare tells what has changed since other decisions were made: OLD is what `gnvcc report --json`
// printed then. A kernel is the same by its identity; edited code has another one, and then goes by
// the name, where no other kernel of that name has changed, too.
func Compare(w io.Writer, old, now []cache.Decision) error {
	was, is := entries(old), entries(now)
	pair := pairs(was, is)
	called := calling(was, is)
	var b strings.Builder
	same := 0
	paired := map[int]bool{}
	for i, e := range is {
		from, known := pair[i]
		if !known {
			fmt.Fprintf(&b, "%s: new, %s\n", called(e), outcome(e))
			continue
		}
		paired[from] = true
		if o := was[from]; alike(o, e) {
			same++
		} else {
			fmt.Fprintf(&b, "%s: %s; was %s\n", called(e), outcome(e), outcome(o))
		}
	}
	for i, e := range was {
		if !paired[i] {
			fmt.Fprintf(&b, "%s: gone; was %s\n", called(e), outcome(e))
		}
	}
	fmt.Fprintf(&b, "%d kernels as they were\n", same)
	_, err := io.WriteString(w, b.String())
	return err
}

// pairs gives the earlier entry of each that has one: the one with its identity; else the one with
// its name, if there is one alone on both sides, or if it says the same.
func pairs(was, is []report.Entry) map[int]int {
	pair, taken := map[int]int{}, map[int]bool{}
	free := func(list []report.Entry, used func(int) bool, key func(report.Entry) string,
		want string) (out []int) {
		for i, e := range list {
			if !used(i) && key(e) == want {
				out = append(out, i)
			}
		}
		return out
	}
	done := func(i int) bool { _, ok := pair[i]; return ok }
	for _, key := range []func(report.Entry) string{keyOf, identityOf, nameOf} {
		for i, e := range is {
			if done(i) {
				continue
			}
			before := free(was, func(i int) bool { return taken[i] }, key, key(e))
			if len(before) != 1 || len(free(is, done, key, key(e))) != 1 {
				continue
			}
			pair[i], taken[before[0]] = before[0], true
		}
	}
	for i, e := range is {
		if done(i) {
			continue
		}
		for _, o := range free(was, func(i int) bool { return taken[i] }, nameOf, nameOf(e)) {
			if alike(was[o], e) {
				pair[i], taken[o] = o, true
				break
			}
		}
	}
	return pair
}

// calling gives what an entry is called: its kernel's name, with the beginning of its identity
// where others have the same name.
func calling(lists ...[]report.Entry) func(report.Entry) string {
	most := map[string]int{}
	for _, list := range lists {
		in := map[string]int{}
		for _, e := range list {
			in[e.Kernel]++
			most[e.Kernel] = max(most[e.Kernel], in[e.Kernel])
		}
	}
	return func(e report.Entry) string {
		if id := e.Decision.Identity; most[e.Kernel] > 1 && id != "" {
			return fmt.Sprintf("%s (%s)", e.Kernel, id[:min(12, len(id))])
		}
		return e.Kernel
	}
}

// keyOf tells decisions apart, identityOf kernels; nameOf is the same for what people take for one
// kernel in builds that differ.
func keyOf(e report.Entry) string { return e.Decision.Key() }

func identityOf(e report.Entry) string { return e.Decision.Identity }

func nameOf(e report.Entry) string {
	return ptx.StableName(e.Decision.Kernel) + " " + e.Decision.Target + " " + e.Decision.Evidence.Device
}

// alike tells whether two entries say the same of their kernels.
func alike(a, b report.Entry) bool { return a.Recipe == b.Recipe && similar(a.SpeedUp, b.SpeedUp) }

// similar: two measurements of the same differ by so much.
func similar(a, b float64) bool { return a == b || a > 0 && b > 0 && a/b < 1.02 && b/a < 1.02 }

func outcome(e report.Entry) string {
	switch state(e) {
	case "faster":
		return fmt.Sprintf("%.2fx by %s", e.SpeedUp, e.Recipe)
	case "same":
		return "best as nvcc builds it"
	case "pinned":
		return "pinned: " + e.Recipe
	case "predicted":
		return "predicted: " + e.Recipe
	}
	return "left alone"
}
