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
