package rewrite

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
)

// TestRealKernels puts every PTX lever on every kernel that nvcc gives for the reader's test
// programs. A lever may refuse; what it carries out must assemble.
func TestRealKernels(t *testing.T) {
	files, err := filepath.Glob("ptx/testdata/*.cu")
	if err != nil || len(files) == 0 {
		t.Fatal("no test programs", err)
	}
	levers := []string{
		"maxnreg=32", "maxnreg=64", "hint@ld=L1::no_allocate", "hint@ld=L1::evict_last.L2::128B", "hint@ld0=cs",
		"hint@st=cs", "hint@st=L1::evict_first",
		"bypass=0", "approx=all,all.f64+1", "demote=spill",
		"bypass=2 hint@ld0=L2::64B maxnreg=40 hint@st=L1::no_allocate",
		"demote=6:loops", "demote=3:conflicts maxnreg=32 bypass=3",
	}
	every := kits.Every()
	kits := ptxtest.Toolkits(t)
	for k, kit := range kits {
		archs := kit.Archs(t)
		for n, file := range files {
			if (n+k)%2 == 1 && k > 0 && k < len(kits)-1 {
				continue // half of the programs with the toolkits between the oldest and the newest
			}
			arch := []string{"sm_90", "sm_75", "sm_100", "sm_80"}[(n+k)%4]
			if !slices.Contains(archs, arch) {
				arch = "sm_90"
			}
			if !every {
				arch = "sm_80" // other tests', too: one compile is enough
			}
			t.Run(fmt.Sprintf("%s/%s/%s", kit.Version, filepath.Base(file), arch), func(t *testing.T) {
				t.Parallel()
				text := kit.PTX(t, file, "-arch="+arch)
				m, err := ptx.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				done := make(map[string]int)
				// Lever by lever over the kernels, shifted, so that few runs of ptxas see each lever on many
				// kernels.
				for shift := 0; shift < len(levers); shift += 5 {
					recipes := make(map[string]recipe.Recipe)
					for i, f := range m.Entries() {
						recipes[f.Name] = mustRecipe(t, levers[(i+shift)%len(levers)])
					}
					out, refused, err := Options{Dynamic: noDynamic(recipes)}.apply(text, recipes)
					if err != nil {
						t.Fatal(err)
					}
					for name, r := range recipes {
						if refused[name] == nil {
							done[r.String()]++
						}
					}
					after, err := ptx.Parse(out)
					if err != nil {
						t.Fatal(err)
					}
					for i, f := range after.Entries() {
						if before := m.Entries()[i]; refused[f.Name] != nil && !bytes.Equal(f.Text(), before.Text()) {
							t.Errorf("%s was refused and changed", f.Name)
						}
					}
					if _, err := kit.Assemble(t, out, "-arch="+arch); err != nil {
						t.Errorf("%v\n%v", recipes, err)
					}
				}
				if len(done) < 2 {
					t.Errorf("only %v was carried out", done)
				}
			})
		}
	}
}
