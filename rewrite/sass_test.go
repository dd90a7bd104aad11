package rewrite

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
)

// TestArithmeticStays looks at what "by construction" promises in the machine code: with every lever that promises it,
// each kernel has the same floating-point instructions, as often, as with nvcc's own compile. (Half-precision ones are
// left out: ptxas uses HFMA2 to load constants.)
func TestArithmeticStays(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	kit := kits[len(kits)-1]
	cuobjdump := kit.Disassembler(t)
	float := regexp.MustCompile(`\b(FADD|FMUL|FFMA|DADD|DMUL|DFMA|MUFU|FSETP|DSETP|FMNMX|F2F|I2F|F2I)[A-Z0-9_.]*`)
	count := func(text []byte) map[string]string {
		out := make(map[string]string)
		for name, code := range kit.SASS(t, cuobjdump, text, "-arch=sm_90") {
			list := float.FindAllString(code, -1)
			slices.Sort(list)
			out[name] = fmt.Sprint(list)
		}
		return out
	}
	for _, file := range []string{"numbers.cu", "shared.cu"} {
		text := kit.PTX(t, filepath.Join("ptx", "testdata", file), "-arch=sm_90")
		m, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		want, floats := count(text), 0
		for _, list := range want {
			floats += strings.Count(list, " ")
		}
		if floats < 20 {
			t.Fatalf("%s: only %d floating-point instructions found", file, floats)
		}
		for _, text1 := range []string{"maxnreg=32", "ld=L1::evict_last.L2::128B st=cs", "smemspill=on maxnreg=24"} {
			r := mustRecipe(t, text1)
			if ExactnessOf(r) != ByConstruction {
				t.Fatalf("%s does not promise it", r)
			}
			recipes := make(map[string]recipe.Recipe)
			for _, f := range m.Entries() {
				recipes[f.Name] = r
			}
			out, refused, err := Options{Dynamic: noDynamic(recipes)}.Apply(text, recipes)
			if err != nil || len(refused) == len(recipes) {
				t.Fatal(r, refused, err)
			}
			for name, list := range count(out) {
				if list != want[name] {
					t.Errorf("%s, %s: %s has %s, had %s", file, r, name, list, want[name])
				}
			}
		}
	}
}
