package rewrite

import (
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
)

// TestApproxReachesTheUnits compiles one kernel per function with the newest toolkit, approximates
// it in every form, and looks at the machine code: the accurate form calls a subroutine for rare
// operands, the approximate one asks the special function unit and calls nothing.
func TestApproxReachesTheUnits(t *testing.T) {
	mufu := map[string]string{
		"div32": "MUFU.RCP", "rcp32": "MUFU.RCP", "sqrt32": "MUFU.(SQRT|RSQ)", "rsqrt32": "MUFU.RSQ",
		"div64": "MUFU.RCP64H", "rcp64": "MUFU.RCP64H", "sqrt64": "MUFU.RSQ64H(?s:.*)MUFU.RCP64H",
		"rsqrt64": "MUFU.RSQ64H",
	}
	kits := ptxtest.Toolkits(t)
	for _, kit := range kits[len(kits)-1:] { // what the others take is the goldens' affair
		t.Run(kit.Version, func(t *testing.T) {
			t.Parallel()
			cuobjdump := kit.Disassembler(t)
			text := kit.PTX(t, filepath.Join("testdata", "approx.cu"), "-arch=sm_80")
			m, err := ptx.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			sass := func(r string) map[string]string {
				recipes := map[string]recipe.Recipe{}
				for _, f := range m.Entries() {
					if r != "" {
						recipes[f.Name] = mustRecipe(t, r)
					}
				}
				out, refused, err := Options{}.apply(text, recipes)
				if err != nil || len(refused) > 0 {
					t.Fatal(r, refused, err)
				}
				return kit.SASS(t, cuobjdump, out, "-arch=sm_80")
			}
			call := regexp.MustCompile(`\bCALL\b`)
			for name, code := range sass("") {
				if !call.MatchString(code) {
					t.Errorf("nvcc's own %s calls nothing: the test shows nothing", name)
				}
			}
			for _, r := range []string{"approx=all,div.full,all.f64", "approx=all.ftz,all.f64+1"} {
				for name, code := range sass(r) {
					if call.MatchString(code) || !regexp.MustCompile(mufu[name]).MatchString(code) {
						t.Errorf("%s, %s:\n%s", r, name, code)
					}
				}
			}
			for _, r := range []string{"approx=all,all.f64+1:warps<32"} {
				for name, code := range sass(r) {
					if !call.MatchString(code) || !regexp.MustCompile(mufu[name]).MatchString(code) {
						t.Errorf("%s, %s has not both forms:\n%s", r, name, code)
					}
				}
			}
		})
	}
}

// TestSFU: what is counted is what the pass replaces.
func TestSFU(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	m, err := ptx.Parse(kits[len(kits)-1].PTX(t, filepath.Join("testdata", "approx.cu"),
		"-arch=sm_80"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Entries() {
		want := strings.TrimSuffix(strings.TrimSuffix(f.Name, "32"), "64")
		if strings.HasSuffix(f.Name, "64") {
			want += ".f64"
		}
		if got := SFU(f); len(got) != 1 || got[want] != 1 {
			t.Errorf("%s: %v", f.Name, got)
		}
	}
}

// TestDegrees: degrees are read and printed.
func TestDegrees(t *testing.T) {
	for text, want := range map[string]Degree{"approx=all,all.f64 fastmath=sin": {},
		"approx=all:warps<3 maxnreg=40": {Warps: 3}, "fastmath=sin,cos:warps<30": {Warps: 30}} {
		got := DegreeOf(mustRecipe(t, text))
		if got != want || !strings.Contains(text, got.String()) {
			t.Errorf("%s: degree %+v", text, got)
		}
	}
}

// TestApproximateIsAskedFor: no recipe with these levers promises the same bits.
func TestApproximateIsAskedFor(t *testing.T) {
	var levers []string
	for _, p := range Levers() {
		if p.Exact == Approximate {
			levers = append(levers, p.Lever)
		}
	}
	sort.Strings(levers)
	if got := strings.Join(levers, " "); got != "approx fastmath" {
		t.Errorf("approximate levers: %s", got)
	}
	for _, text := range []string{"maxnreg=40 approx=div", "spec{#1=64} spec{#1=1024|approx=all}"} {
		if e := ExactnessOf(mustRecipe(t, text)); e != Approximate {
			t.Errorf("%s is %s", text, e)
		}
	}
}

// TestTwice: bodies with all that is hard to have twice are taken by ptxas, with line information
// and without, and shared memory stays what it was.
func TestTwice(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	kit := kits[len(kits)-1]
	for _, flags := range [][]string{{"-arch=sm_80", "-lineinfo"}, {"-arch=sm_80", "-rdc=true"}} {
		text := kit.PTX(t, filepath.Join("testdata", "twice.cu"), flags...)
		m, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		recipes := map[string]recipe.Recipe{}
		for _, f := range m.Entries() {
			recipes[f.Name] = mustRecipe(t, "approx=all.ftz,all.f64+1:warps<3 hint@ld=cs maxnreg=64")
		}
		out, refused, err := Options{}.apply(text, recipes)
		if err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
		if flags[1] == "-rdc=true" {
			flags[1] = "-c"
		}
		if _, err := kit.Assemble(t, out, flags...); err != nil {
			t.Error(err)
		}
		after, err := ptx.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Entries() {
			was, _ := m.Traits(f.Name)
			is, err := after.Traits(f.Name)
			if err != nil || is.SharedStatic != was.SharedStatic {
				t.Errorf("%s: %d bytes of shared memory, had %d, %v", f.Name, is.SharedStatic, was.SharedStatic,
					err)
			}
			if n := strings.Count(string(after.Entry(f.Name).Text()), "bar.sync"); n != 2*strings.Count(
				string(f.Text()), "bar.sync") {
				t.Errorf("%s: %d barriers", f.Name, n)
			}
		}
	}
}
