package rewrite

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite/recipe"
)

func TestCheckPasses(t *testing.T) {
	a, b := Pass{Lever: "a", Stage: PTX, apply: spin}, Pass{Lever: "b", Stage: PTX,
		apply: spin}
	for _, c := range []struct {
		list  []Pass
		rules []rule
		want  string
	}{
		{[]Pass{a, b}, []rule{{"a", "b", "x"}}, ""},
		{[]Pass{b, a}, []rule{{"a", "b", "x"}}, "a must run before b (x)"},
		{[]Pass{a, b}, []rule{{"a", "b", "x"}, {"b", "a", "y"}}, "b must run before a (y)"},
		{[]Pass{a, b}, []rule{{"a", "b", ""}}, "why"},
		{[]Pass{a, b}, []rule{{"a", "c", "x"}}, "not two passes of one stage"},
		{[]Pass{a, {Lever: "f", Stage: HostStub}}, []rule{{"a", "f", "x"}}, "not two passes of one stage"},
		{[]Pass{a, a}, nil, "a is given twice"},
		{[]Pass{{Lever: "a", Stage: PTX}}, nil, "none where it should"},
		{[]Pass{{Lever: "a", Stage: HostStub, apply: spin}}, nil, "where it should have none"},
		{[]Pass{a, {Lever: "s", Stage: Source}}, nil, "acts later"},
	} {
		err := checkPasses(c.list, c.rules)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v: %v, want %q", c.list, c.rules, err, c.want)
		}
	}
}

// alone gives the options and the result of recipes for one kernel of the golden.
func (g *golden) alone(t *testing.T, list []Pass, kernel string, r recipe.Recipe) ([]byte, error) {
	t.Helper()
	if list == nil {
		list = passes
	}
	out, refused, err := g.options.applyBy(list, g.in, map[string]recipe.Recipe{kernel: r})
	if err != nil {
		t.Fatal(err)
	}
	return out, refused[kernel]
}

// samples are the values that the goldens have for each lever of the PTX stage, those first that
// most kernels take; and all goldens.
func samples(t *testing.T) (map[string][]recipe.Recipe, []*golden) {
	t.Helper()
	count := make(map[string]map[string]int)
	var all []*golden
	for _, path := range goldens(t) {
		g := readGolden(t, path)
		if strings.Contains(g.refused, "the file: ") {
			continue
		}
		g.path = path
		all = append(all, g)
		for kernel, whole := range g.each {
			for _, p := range passes {
				if p.Stage != PTX {
					continue
				}
				r := of(whole, p.Lever)
				if r.IsDefault() {
					continue
				}
				if out, err := g.alone(t, nil, kernel, r); err == nil && !bytes.Equal(out, g.in) {
					if count[p.Lever] == nil {
						count[p.Lever] = make(map[string]int)
					}
					count[p.Lever][r.String()]++
				}
			}
		}
	}
	out := make(map[string][]recipe.Recipe)
	for lever, values := range count {
		texts := slices.Sorted(maps.Keys(values))
		slices.SortStableFunc(texts, func(a, b string) int { return values[b] - values[a] })
		for _, text := range texts {
			out[lever] = append(out[lever], mustRecipe(t, text))
		}
	}
	return out, all
}

// of is what a recipe says of one lever.
func of(r recipe.Recipe, lever string) recipe.Recipe {
	var out recipe.Recipe
	for _, t := range r.Terms {
		if t.Lever == lever {
			out.Terms = append(out.Terms, t)
		}
	}
	return out
}

// never are pairs of which no kernel takes both.
var never = map[[2]string]string{
	{"coarsen", "spin"}: "the control flow of a spin lock's threads depends on the block index",
}

// TestOrder puts every two levers on every kernel of the goldens that takes each of them. In the
// list's order both can be carried out, somewhere. The other way round the same comes out, or a
// rule forbids that; and each rule has a kernel that shows why it is there.
func TestOrder(t *testing.T) {
	values, all := samples(t)
	const most = 7 // values of a lever
	type place struct {
		g      *golden
		kernel string
	}
	takes := make(map[string]map[place]bool) // by term
	for lever, list := range values {
		values[lever] = list[:min(most, len(list))]
		for _, r := range values[lever] {
			takes[r.String()] = make(map[place]bool)
			for _, g := range all {
				for kernel := range g.each {
					if _, err := g.alone(t, nil, kernel, r); err == nil {
						takes[r.String()][place{g, kernel}] = true
					}
				}
			}
		}
	}
	shown := make(map[rule]bool)
	for i, a := range passes {
		for _, b := range passes[i+1:] {
			if a.Stage != PTX || b.Stage != PTX {
				continue
			}
			ruled := slices.IndexFunc(order, func(r rule) bool {
				return r.before == a.Lever && r.after == b.Lever
			})
			both, other := 0, ""
			var refusal error
			for _, x := range values[a.Lever] {
				for _, y := range values[b.Lever] {
					r := recipe.Recipe{Terms: slices.Concat(x.Terms, y.Terms)}
					for at := range takes[x.String()] {
						if !takes[y.String()][at] || !kits.Every() && both >= 8 && (ruled < 0 || other != "") {
							continue
						}
						want, err := at.g.alone(t, nil, at.kernel, r)
						if err != nil {
							refusal = err
							continue
						}
						both++
						if got, err := at.g.alone(t, []Pass{b, a}, at.kernel, r); err != nil ||
							!bytes.Equal(got, want) {
							other = fmt.Sprintf("%s, kernel %s, recipe %q: %v", at.g.path, at.kernel, r, err)
						}
					}
				}
			}
			if _, ok := never[[2]string{a.Lever, b.Lever}]; ok != (both == 0) {
				t.Errorf("%d kernels of the goldens take both %s and %s, where some should or none can (%v)",
					both, a.Lever, b.Lever, refusal)
			}
			switch {
			case ruled >= 0 && other != "":
				shown[order[ruled]] = true
			case other != "":
				t.Errorf("with %s in front of %s something else comes out, and no rule says which is first: %s",
					b.Lever, a.Lever, other)
			}
		}
	}
	for _, r := range order {
		if !shown[r] {
			t.Errorf("no golden shows why %s must run before %s (%s)", r.before, r.after, r.because)
		}
	}
}
