package source

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// TestFastMath compiles rewritten kernels with the oldest and the newest toolkit and looks at their
// PTX: what is float asks the special function units in so many places, what is not is what it was.
func TestFastMath(t *testing.T) {
	all := kits.All(t)
	for _, tk := range slices.Compact([]kits.Kit{all[0], all[len(all)-1]}) {
		t.Run(tk.Version, func(t *testing.T) {
			t.Parallel()
			p, ii := prepare(t, tk, filepath.Join("testdata", "fastmath.cu"))
			u, _, before := p.plain(t, ii)
			entries := map[string]string{} // by simple name
			for _, e := range before.Entries() {
				k, err := u.Kernel(e.Name)
				if err != nil {
					t.Fatal(err)
				}
				entries[k.Name] = e.Name
			}
			units := regexp.MustCompile(`\b(sin|cos|ex2|lg2)\.approx(\.ftz)?\.f32`)
			last := tk == all[len(all)-1]
			for _, c := range []struct {
				kernel, recipe string
				count          int    // of such instructions; -1: refused
				ftz            bool   // all of them
				calls          string // what MathCalls tells, as names
			}{
				{"named", "fastmath=all", 6, false, "cos exp log pow sin"},
				{"named", "fastmath=all.ftz", 6, true, "cos exp log pow sin"},
				{"pair", "fastmath=all", 2, false, "cos sin"},
				{"pair", "fastmath=sin", -1, false, "cos sin"},
				{"overloaded", "fastmath=all", 6, false, "exp pow sin"},
				{"templated", "fastmath=all", 3, false, "cos exp sin"},
				{"templated", "fastmath=tan", -1, false, "cos exp sin"},
				{"owned", "fastmath=all", -1, false, ""},
				{"plain", "fastmath=all", -1, false, ""},
			} {
				if !last && c.count > 0 && c.kernel != "overloaded" {
					continue // a second and more each: the newest is enough
				}
				k, err := u.Kernel(entries[c.kernel])
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, f := range []string{"cos", "exp", "log", "pow", "sin"} {
					if k.MathCalls()[f] > 0 {
						names = append(names, f)
					}
				}
				if got := strings.Join(names, " "); got != c.calls {
					t.Errorf("%s calls %q, want %q", c.kernel, got, c.calls)
				}
				text, err := k.rewrite(termsOf(t, c.recipe), nil)
				if c.count < 0 {
					if err == nil {
						t.Errorf("%s, %s: not refused", c.kernel, c.recipe)
					}
					continue
				}
				if err != nil {
					t.Error(err)
					continue
				}
				out, err := p.ptx(t, text)
				if err != nil {
					t.Errorf("%s, %s: %v", c.kernel, c.recipe, err)
					continue
				}
				after, err := ptx.Parse(out)
				if err != nil {
					t.Fatal(err)
				}
				code := after.Entry(entries[c.kernel]).Text()
				found := units.FindAllSubmatch(code, -1)
				if len(found) != c.count {
					t.Errorf("%s, %s: %d instructions of the units, want %d:\n%s", c.kernel, c.recipe, len(found),
						c.count, code)
				}
				for _, f := range found {
					if (len(f[2]) > 0) != c.ftz {
						t.Errorf("%s, %s: %s", c.kernel, c.recipe, f[0])
					}
				}
				if c.kernel != "plain" && !bytes.Equal(after.Entry(entries["plain"]).Text(),
					before.Entry(entries["plain"]).Text()) {
					t.Errorf("%s, %s: another kernel is another", c.kernel, c.recipe)
				}
			}
			// Only the float calls change: those of double and int keep their code, under other names.
			for _, name := range []string{"doubles", "integers"} {
				if !last {
					continue
				}
				k, _ := u.Kernel(entries[name])
				text, err := k.rewrite(termsOf(t, "fastmath=all.ftz"), nil)
				if err != nil {
					t.Fatal(err)
				}
				out, err := p.ptx(t, text)
				if err != nil {
					t.Fatal(err)
				}
				after, err := ptx.Parse(out)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := units.FindAll(after.Entry(entries[name]).Text(), -1),
					units.FindAll(before.Entry(entries[name]).Text(), -1); len(got) != len(want) {
					t.Errorf("%s: %q, was %q", name, got, want)
				}
			}
		})
	}
}

// TestFastMathNames: what the user declares, or uses otherwise than by calling it, is his own
// everywhere in the text.
func TestFastMathNames(t *testing.T) {
	const front = "# 1 \"a.cu\"\n# 1 \"/kit/include/cuda_runtime.h\" 1\nfloat sinf(float);\n# 2 \"a.cu\" 2\n"
	kernel := "__attribute__((global)) void k(float *a) { a[0] = CALL; }\n"
	for _, c := range []struct {
		text, call string
		renamed    bool
	}{
		{"", "sinf(a[1])", true},
		{"", "std::sin(a[1])", true},
		{"", "::sin(a[1])", true},
		{"", "-sin(a[1])", true},
		{"using std::sin;\n", "sin(a[1])", true},
		{"", "other::sin(a[1])", false},
		{"", "cuda::std::sin(a[1])", false},
		{"", "a[0].sin(1)", false},
		{"", "p->sin(1)", false},
		{"", "sin<float>(a[1])", false},
		{"__attribute__((device)) float sinf(float x);\n", "sinf(a[1])", false},
		{"__attribute__((device)) float sinf(float x) { return x; }\n", "sinf(a[1])", false},
		{"namespace n { __attribute__((device)) float sin(float x) { return x; } } using namespace n;\n", "sin(a[1])", false},
		{"", "[](float sin) { return sin; }(1) + sin(a[1])", false},
		{"", "apply(sinf, 1) + sinf(a[1])", false},
		{"using other::sin;\n", "sin(a[1])", false},
		{"", "tanf(a[1])", false},
	} {
		u, err := Parse([]byte(front + c.text + strings.Replace(kernel, "CALL", c.call, 1)))
		if err != nil {
			t.Fatal(err)
		}
		ks := u.kernels()
		if len(ks) != 1 {
			t.Fatalf("%q: %d kernels", c.text, len(ks))
		}
		out, err := ks[0].rewrite([]recipe.Term{{Lever: "fastmath", Value: "all"}}, nil)
		if (err == nil) != c.renamed {
			t.Errorf("%s%s: %v", c.text, c.call, err)
		}
		if err == nil && !bytes.Contains(out, []byte(fastPrefix+"sin")) {
			t.Errorf("%s%s gives\n%s", c.text, c.call, out)
		}
	}
	for _, value := range []string{"", "tan", "all:warps<4", "sin.full", "sin,", "all:"} {
		if _, err := parseFast(value); err == nil {
			t.Errorf("%q is read", value)
		}
	}
}
