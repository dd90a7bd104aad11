package rewrite

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"gnvcc/install/kits"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/sass"
)

// TestEveryLever names what a lever of the list still wants.
//
//	on PTX          a golden that fires, one that must not, and an output that every ptxas takes which knows what the lever needs
//	on the source   a rule of rewrite/lowered that fires, and one that is refused
//	by construction the same floating-point instructions in the machine code (TestByConstruction)
//
// What the host stub does is tried in package stub. That the
// lever has a row in policy and an example is looked at there.
func TestEveryLever(t *testing.T) {
	values, all := samples(t)
	kits := ptxtest.Toolkits(t)
	for _, p := range Levers() {
		switch p.Stage {
		case PTX:
			if len(values[p.Lever]) == 0 {
				t.Errorf("%s: no golden in testdata fires", p.Lever)
				continue
			}
			if !slices.ContainsFunc(all, func(g *golden) bool { return g.refuses(p.Lever) }) {
				t.Errorf("%s: no golden in testdata is refused", p.Lever)
			}
			for _, kit := range kits {
				if err := assembles(t, kit, p.Lever, values[p.Lever], all); err != "" {
					t.Errorf("%s: ptxas %s takes no golden's output: %s", p.Lever, kit.Version, err)
				}
			}
		case Source:
			fires, refused := sourceRules(t, p.Lever)
			if !fires {
				t.Errorf("%s: no rule in source/testdata/rules is carried out", p.Lever)
			}
			if !refused {
				t.Errorf("%s: no rule in source/testdata/rules is refused", p.Lever)
			}
		}
	}
}

// refuses tells whether a kernel of the golden is refused because of a lever.
func (g *golden) refuses(lever string) bool {
	for _, line := range lines([]byte(g.refused)) {
		_, reason, _ := strings.Cut(line, ": ")
		if rest, ok := strings.CutPrefix(reason, lever); ok && strings.ContainsAny(rest[:1], "=@{") {
			return true
		}
	}
	return false
}

// assembles finds a kernel of a golden that a lever changes and this ptxas takes; else it says what
// there is.
func assembles(t *testing.T, kit ptxtest.Toolkit, lever string, values []recipe.Recipe,
	all []*golden) string {
	t.Helper()
	said := "none fires"
	for _, g := range all {
		if !g.assemble {
			continue
		}
		for kernel, whole := range g.each {
			r := of(whole, lever)
			if r.IsDefault() {
				continue
			}
			out, err := g.alone(t, nil, kernel, r)
			if err != nil || bytes.Equal(out, g.in) {
				continue
			}
			m, err := ptx.Parse(g.in)
			if err != nil {
				t.Fatal(err)
			}
			flags := []string{"-arch=" + m.Target[0]}
			if g.options.Relocatable {
				flags = append(flags, "-c")
			}
			if _, err = kit.Assemble(t, out, flags...); err == nil {
				return ""
			}
			said = err.Error()
			if tooOld(err) { // does the lever itself ask for more?
				old := *g
				old.in = bytes.Replace(g.in, []byte(".version "+m.Version), []byte(".version 7.8"), 1)
				if _, err := old.alone(t, nil, kernel, r); err != nil && strings.Contains(err.Error(),
					"needs PTX ISA") {
					return ""
				}
			}
		}
	}
	return said
}

// sourceRules looks a lever up in the goldens of package lowered.
func sourceRules(t *testing.T, lever string) (fires, refused bool) {
	t.Helper()
	files, err := filepath.Glob("lowered/testdata/rules/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no rules", err)
	}
	for _, path := range files {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		has, after, no := false, false, false
		for _, f := range a.Files {
			switch f.Name {
			case "recipe":
				_, text, _ := strings.Cut(string(f.Data), " ")
				r, err := recipe.Parse(text)
				has = err == nil && !of(r, lever).IsDefault()
			case "change":
				after = true
			case "refusal":
				no = true
			}
		}
		fires, refused = fires || has && after, refused || has && no
	}
	return fires, refused
}

// TestByConstruction looks at what that promises in the machine code: with every value that the
// goldens have of such a lever each kernel that it changes keeps its floating-point instructions,
// each as often as in nvcc's own compile.
func TestByConstruction(t *testing.T) {
	values, _ := samples(t)
	every := kits.Every()
	kits := ptxtest.Toolkits(t)
	kit := kits[len(kits)-1]
	const arch = "-arch=sm_90"
	shown := make(map[string]int)
	for i, file := range []string{"shared.cu", "numbers.cu"} {
		if i > 0 && !every {
			continue
		}
		text := kit.PTX(t, filepath.Join("ptx", "testdata", file), arch)
		m, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		was, err := kit.Assemble(t, text, arch)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range Levers() {
			if p.Stage != PTX || p.Exact != ByConstruction {
				continue
			}
			for _, r := range values[p.Lever] {
				recipes := make(map[string]recipe.Recipe)
				for _, f := range m.Entries() {
					recipes[f.Name] = r
				}
				out, refused, err := Options{Dynamic: noDynamic(recipes)}.apply(text, recipes)
				if err != nil {
					t.Fatal(err)
				}
				if len(refused) == len(recipes) {
					continue
				}
				now, err := kit.Assemble(t, out, arch)
				if err != nil {
					t.Errorf("%s, %s: %v", file, r, err)
					continue
				}
				for name := range recipes {
					if refused[name] != nil {
						continue
					}
					if err := sass.SameEntries(was, name, now, name); err != nil {
						t.Errorf("%s, %s: %v", file, r, err)
					}
					shown[p.Lever]++
				}
			}
		}
	}
	for _, p := range Levers() {
		switch {
		case p.Exact != ByConstruction:
		case p.Stage == PTX && shown[p.Lever] == 0:
			t.Errorf("%s calls itself exact by construction, and no kernel of the test programs shows it",
				p.Lever)
		case p.Stage == Source:
			t.Errorf("%s has a compiler work on the arithmetic anew, and calls itself exact by construction",
				p.Lever)
		}
	}
}
