package compile

import (
	"context"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/driver/job"
	"gnvcc/driver/record"
	"gnvcc/install/kits"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// TestParsedOnce: a build reads each PTX text once: nvcc's own, that of every source variant, and
// the one in which they are put together. The second time the variant comes from the store.
func TestParsedOnce(t *testing.T) {
	kits.Long(t, "it counts work that nobody sees")
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": shares})
	p.Gnvcc("-arch=sm_80", "-c", "k.cu", "-o", "k.o")
	c := New(p.Store, t.TempDir())
	for _, list := range record.Read(p.Store).Assemblies {
		for _, test := range []struct {
			kernel, recipe string
			times          []int64
		}{
			{"_Z5fifthPfi", "maxnreg=40 hint@ld=cs", []int64{1, 1}},
			{"_Z5fifthPfi", "unroll=4", []int64{3, 3}},
			{"_Z5fifthPfi", "spec{#1=64} maxnreg=48", []int64{3, 3}},
		} {
			s, err := c.source(list[0], test.kernel)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.times {
				j, err := job.New(p.Store, s.job.Call, s.job.Tool, s.job.PTX)
				if err != nil {
					t.Fatal(err)
				}
				_, b, done, err := c.workbench(context.Background(), Limit, forBuild)
				if err != nil {
					t.Fatal(err)
				}
				before := ptx.Parsed()
				if _, err := j.Kernels(); err != nil {
					t.Fatal(err)
				}
				out, err := b.Build(context.Background(), j, s.translation,
					map[string]recipe.Recipe{test.kernel: drivertest.MustParse(t, test.recipe)}, s.std)
				if err != nil || len(out.Refused) > 0 {
					t.Fatal(test.recipe, err, out)
				}
				if n := ptx.Parsed() - before; n != want {
					t.Errorf("%s: %d texts read, want %d", test.recipe, n, want)
				}
				done()
			}
		}
	}
}
