package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gnvcc/cache/lock"
	"gnvcc/driver/apply"
)

// What TestWalk asks of each verb.

// checkStatus compares status --json: what it says of the code of a file has to be so, always; and
// it has to know what can be known.
func (w *walk) checkStatus(s spoken, all []expected) {
	var got struct{ Outputs []apply.Output }
	if err := json.Unmarshal([]byte(s.Text), &got); err != nil || s.Code != 0 {
		w.t.Errorf("status: %d, %v\n%s", s.Code, err, s.Text)
		return
	}
	of := map[string]apply.Output{}
	for _, o := range got.Outputs {
		rel, _ := filepath.Rel(w.root, o.Output)
		if _, twice := of[rel]; twice {
			w.t.Errorf("status: %s is listed twice", rel)
		}
		of[rel] = o
	}
	for _, e := range all {
		o, ok := of[e.path]
		delete(of, e.path)
		if !ok && !e.unsure {
			w.t.Errorf("status: nothing of %+v", e)
			continue
		}
		for _, k := range o.Kernels {
			w.checkClaim(e, o, k)
		}
		if e.unsure || w.files[e.path].damaged && o.State == "alone" {
			continue
		}
		if o.State != e.state || len(o.Kernels) != len(e.kernels) {
			w.t.Errorf("status: %s is %s (%s), %d kernels; want %+v", e.path, o.State, o.Why,
				len(o.Kernels), e)
		}
	}
	for path, o := range of {
		w.t.Errorf("status: of %s: %+v", path, o)
	}
}

// checkClaim compares what is said of one kernel.
func (w *walk) checkClaim(e expected, o apply.Output, k apply.Kernel) {
	for _, x := range e.kernels {
		if k.Kernel != fmt.Sprintf("k%d", x.holds.source) ||
			k.Target != fmt.Sprintf("sm_%d", x.holds.target) {
			continue
		}
		truth := k.Unknown || w.machine[code{x.holds.task, k.Recipe}] == w.machine[x.holds]
		if truth && (e.unsure || k.Unknown == x.unknown && k.Recipe == x.as.recipe &&
			(e.state == "alone" || k.Wanted == x.wanted)) {
			return
		}
	} // an archive may have two of a name: one of them has to fit
	w.t.Errorf("status: %s (%s): no kernel as in %+v; want %+v", e.path, o.State, k, e)
}

// checkDry compares what apply or revert say that they would do.
func (w *walk) checkDry(verb string, s spoken, all []expected, own bool) {
	var want []string
	unsure := false
	left, stale := false, false
	for _, e := range all {
		unsure = unsure || e.unsure
		r := w.wouldRun(e, own)
		if r != "" {
			want = append(want, r)
		}
		if l, late := w.remains(e); own && r == "" {
			left, stale = left || l, stale || late
		}
	}
	var got []string
	for _, line := range strings.Split(s.Text, "\n") {
		if rest, ok := strings.CutPrefix(line, "gnvcc: would be run again: "); ok {
			name, _, _ := strings.Cut(rest, " [")
			got = append(got, name)
		}
	}
	if unsure {
		return
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: %q, want %q\n%s", verb, got, want, s.Text)
	}
	all0 := strings.Contains(s.Text, "everything that was built with gnvcc is nvcc's own code")
	if own && all0 && (left || stale || len(want) > 0) {
		w.t.Errorf("%s: all is said to be nvcc's own, and is not\n%s", verb, s.Text)
	}
	if own && len(want) == 0 && (s.Code != 0) != left {
		w.t.Errorf("%s: exit code %d, left alone: %v\n%s", verb, s.Code, left, s.Text)
	}
}

// wouldRun is the command that apply or revert would run for a file, "" for none.
func (w *walk) wouldRun(e expected, own bool) string {
	if e.by == nil || e.state == "alone" {
		return ""
	}
	for _, x := range e.kernels {
		if want := x.wanted; own && x.as.recipe != "" || !own && want != x.as.recipe {
			return nameOf(e.by.source) + " -> " + filepath.Base(e.path)
		}
	}
	return ""
}

// remains tells whether revert has to leave a file alone with what may be a recipe in it, or says
// that it is still to be made again.
func (w *walk) remains(e expected) (left, stale bool) {
	f := w.files[e.path]
	if f.damaged {
		return true, false
	}
	for _, x := range e.kernels {
		switch {
		case x.unknown:
			left = true
		case x.as.recipe == "":
		case f.made() && w.buildable(x):
			stale = true
		default:
			left = true
		}
	}
	return left, stale
}

// buildable tells whether some command that gave a code still has what it wrote.
func (w *walk) buildable(x expectedKernel) bool {
	for _, h := range w.holding(x.holds, anyone) {
		if w.alive(h.folder) && w.chosen(h.cmdline) {
			if _, there := w.files[h.output()]; there {
				return true
			}
		}
	}
	return false
}

// chosen tells whether a command is the one that counts, of those that write the same.
func (w *walk) chosen(c cmdline) bool {
	e := w.at(c.output(), w.alive)
	return e.by == nil || *e.by == c
}

// checkExport compares the lines of a lock file: one for each kernel in the files that has a
// recipe, of a kernel in a file that is gone perhaps.
func (w *walk) checkExport(s spoken, path string, all []expected) {
	got := map[string]bool{}
	if text, err := os.ReadFile(path); err == nil {
		lines, err := lock.Parse(text, nil)
		if err != nil {
			w.t.Errorf("export: %v", err)
		}
		for _, l := range lines {
			got[l.Identity] = true
		}
	}
	must, may := map[string]task{}, map[string]task{}
	for j, id := range w.identities {
		if recipe := w.pins[j]; recipe != "" && !strings.HasPrefix(recipe, or(w.banned[j.source])) {
			may[id] = j
		}
	}
	for _, e := range all {
		for _, x := range e.kernels {
			j := x.as.task
			if _, ok := may[w.identities[j]]; ok && !x.unknown && !e.unsure && w.alone(x) {
				must[w.identities[j]] = j
			}
		}
	}
	for id := range got {
		if _, ok := may[id]; !ok {
			w.t.Errorf("export: a line for %s", id)
		}
	}
	for id, j := range must {
		if !got[id] {
			w.t.Errorf("export: no line for %+v; code %d\n%s", j, s.Code, s.Text)
		}
	}
}

// lines reads a lock file.
func (w *walk) lines(path string) map[task]string {
	text, err := os.ReadFile(path)
	w.must(err)
	lines, err := lock.Parse(text, nil)
	w.must(err)
	out := map[task]string{}
	for _, l := range lines {
		for j, id := range w.identities {
			if id == l.Identity {
				out[j] = l.Recipe
			}
		}
	}
	return out
}

// alone tells whether no other source gives the same code.
func (w *walk) alone(x expectedKernel) bool {
	for _, h := range w.holding(x.holds, anyone) {
		if h.task != x.as.task {
			return false
		}
	}
	return true
}

// or is a lever that no recipe begins with, where there is none.
func or(lever string) string {
	if lever == "" {
		return "none"
	}
	return lever
}
