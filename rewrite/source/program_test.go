package source

// Whole programs through the real compilers: every kernel found by its entry, every rewritten text
// compiled, every other entry's PTX unchanged.

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite/merge"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

func termsOf(t testing.TB, text string) []recipe.Term {
	t.Helper()
	r, err := recipe.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r.Terms
}

// sample is a recipe value for each value that can be fixed.
func sample(v Value) string {
	switch v.Class {
	case Integer:
		return v.Name + "=1"
	case Float:
		return v.Name + "=-2.5"
	}
	if v.field {
		return ""
	}
	return "align(" + v.Name + ")=16"
}

// TestPrograms takes the oldest toolkit, the demo's and the newest; with GNVCC_TESTS=longer those
// between them, too.
func TestPrograms(t *testing.T) {
	eachToolkit(t, func(t *testing.T, tk kits.Kit) {
		t.Parallel()
		if !kits.Longer() && (tk.Version == "12.4" || tk.Version == "13.3") {
			t.Skip("SKIPPED: for time's sake; GNVCC_TESTS=longer takes this toolkit, too")
		}
		for _, name := range []string{"basics", "templates", "odd", "policies", "legacy"} {
			t.Run(name, func(t *testing.T) { testProgram(t, tk, name) })
		}
	})
}

func testProgram(t *testing.T, tk kits.Kit, name string) {
	p, ii := prepare(t, tk, filepath.Join("testdata", "programs", name+".cu"))
	u, plain, m := p.plain(t, ii)
	log, changed, all := describe(t, u, m, ii)
	golden(t, filepath.Join("testdata", "programs", name+".golden"), []byte(log))

	out, err := p.ptx(t, all)
	if err != nil {
		t.Fatalf("rewritten text: %v", err)
	}
	if _, err := p.cubin(t, out); err != nil {
		t.Fatalf("rewritten text: %v", err)
	}
	merged(t, p, m, plain, out, changed)
	alone(t, p, u, m, name, changed)
}

// describe tells what is seen of a unit's kernels, and gives each a recipe: entry by entry, the
// text with all of them.
func describe(t *testing.T, u *Unit, m *ptx.Module, ii []byte) (text string,
	changed map[string]string, all []byte) {
	var log strings.Builder
	all, changed = ii, map[string]string{}
	for _, e := range m.Entries() {
		k, err := u.Kernel(e.Name)
		if err != nil {
			fmt.Fprintf(&log, "%s: %v\n", shortName(e.Name), errors(err))
			continue
		}
		fmt.Fprintf(&log, "%s: %s:%d %s\n", shortName(e.Name), k.File, k.Line, k.Name)
		for _, l := range k.Loops {
			fmt.Fprintf(&log, "  loop %s %s in %s trip %d pragma %v inner %v\n", l.Site, l.Kind,
				l.Function, l.Trip, l.Pragma, l.Inner)
		}
		sig := Signature(e)
		values, err := k.Values(sig)
		if err != nil {
			fmt.Fprintf(&log, "  %v\n", errors(err))
		}
		var items []string
		for _, v := range values {
			why := v.Why
			if why == "" {
				why = "ok"
				if s := sample(v); s != "" {
					items = append(items, s)
				}
			}
			fmt.Fprintf(&log, "  value %q %s arg %d+%d %d bits %v: %s\n", v.Name, v.Type, v.Argument,
				v.Offset, v.Bits, v.Class, why)
		}
		var terms []string
		if slices.ContainsFunc(k.Loops, func(l Loop) bool { return l.Kind == "for" && !l.Pragma }) {
			terms = append(terms, "unroll=2")
		}
		if k.NoSpec == "" {
			terms = append(terms, "spec{"+strings.Join(append(items, "blockDim.x=64"), ",")+"}")
		}
		if len(terms) == 0 {
			continue
		}
		r := strings.Join(terms, " ")
		fmt.Fprintf(&log, "  recipe %s\n", r)
		// One after the other in one text, so that one cicc tells about all. A template that was
		// rewritten for one instantiation is left alone for the others.
		if slices.ContainsFunc(slices.Collect(maps.Keys(changed)), func(other string) bool {
			o, _ := u.Kernel(other)
			return o.f == k.f
		}) {
			continue
		}
		changed[e.Name] = r
		all = chain(t, all, e.Name, termsOf(t, r), sig)
	}
	return log.String(), changed, all
}

// merged: all variants put into the default module, with the shared memory that they had.
func merged(t *testing.T, p *program, m *ptx.Module, plain, out []byte,
	changed map[string]string) {
	variants := map[string][]byte{}
	for entry := range changed {
		variants[entry] = out
	}
	together := assemble(t, plain, variants)
	if _, err := p.cubin(t, together); err != nil {
		t.Fatalf("assembled: %v", err)
	}
	m4, err := ptx.Parse(together)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Entries() {
		before, err1 := m.Traits(e.Name)
		after, err2 := m4.Traits(e.Name)
		if err1 != nil || err2 != nil || before.SharedStatic != after.SharedStatic ||
			before.SharedDynamic != after.SharedDynamic {
			t.Errorf("%s: %d bytes of shared memory, %d before (%v %v)", e.Name, after.SharedStatic,
				before.SharedStatic, err1, err2)
		}
		if _, was := changed[e.Name]; !was && !bytes.Equal(e.Text(), m4.Entry(e.Name).Text()) {
			t.Errorf("%s has no recipe and changed", e.Name)
		}
	}
}

// alone: of one kernel rewritten alone the others are the default's to the byte.
func alone(t *testing.T, p *program, u *Unit, m *ptx.Module, name string,
	changed map[string]string) {
	entry := map[string]string{"basics": "_Z4tilePfPKfii", "templates": "_Z4overPii",
		"odd":      "_Z9constantsPii",
		"policies": "_ZN6policy6KernelINS_4GemmINS_3MmaINS_5ShapeILi16ELi16ELi8EEEffvEENS_8IteratorIS4_fLNS_6LayoutE0EEENS6_IS4_fLS7_1EEENS_6LinearEEEEEvNT_6ParamsE", "legacy": "transpose"}[name]
	e := m.Entry(entry)
	one, err := u.Rewrite(entry, termsOf(t, changed[entry]), Signature(e))
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.ptx(t, one)
	if err != nil {
		t.Fatal(err)
	}
	m2, err := ptx.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Entries() {
		same := bytes.Equal(labels(e.Text()), labels(m2.Entry(e.Name).Text()))
		if same != (e.Name != entry) {
			t.Errorf("rewriting %s alone: %s unchanged: %v", entry, e.Name, same)
		}
	}
}

var unnamedString = regexp.MustCompile(`\$str(\$[0-9]+)?|__unnamed_[0-9]+`)

// labels takes out the numbers that cicc gives to strings throughout a module.
func labels(text []byte) []byte { return unnamedString.ReplaceAll(text, []byte("$$str")) }

func chain(t *testing.T, text []byte, entry string, terms []recipe.Term, signature []string) []byte {
	t.Helper()
	u, err := Parse(text)
	if err != nil {
		t.Fatalf("a rewritten text is not read: %v", err)
	}
	out, err := u.Rewrite(entry, terms, signature)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// assemble puts entries into the default module as the driver does.
func assemble(t *testing.T, plain []byte, variants map[string][]byte) []byte {
	t.Helper()
	var list []merge.Variant
	for name, text := range variants {
		m, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, merge.Variant{Entry: name, Module: m})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Entry < list[j].Entry })
	base, err := ptx.Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	out, refused, err := merge.Into(base, list)
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	return out.Bytes()
}

var hash = regexp.MustCompile(`\d+_GLOBAL__N__[0-9a-z_]*?([0-9]+(anon|deep))`)

// shortName takes what depends on the folder out of an entry's name.
func shortName(entry string) string { return hash.ReplaceAllString(entry, "<unnamed>$1") }

func errors(err error) string { return shortName(strings.ReplaceAll(err.Error(), "source: ", "")) }

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test -update writes it: read the diff)", err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs from what was found (go test -update writes it: read the diff):\n%s", file,
			got)
	}
}
