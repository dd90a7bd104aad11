package compile

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/record"
	"gnvcc/rewrite/recipe"
)

const sums = `
#include "local.h"
__global__ void sum(float *p, int n) { float s = 0; for (int i = 0; i < n; i++) s = __fadd_rn(s, scaled(p[i])); p[threadIdx.x] = s; }
int main() { sum<<<1, 1>>>(0, 1); }
`

// TestBadLowered: lowered device code that is cut off, that is another file's or another cicc's, that
// is none or is gone costs the kernel its source levers, with a reason, and nothing else. A header
// that vanished costs nothing: no variant reads it.
func TestBadLowered(t *testing.T) {
	const kernel = "_Z3sumPfi"
	files := map[string]string{"k.cu": sums,
		"local.h": "__device__ inline float scaled(float x) { return __fmul_rn(x, 3); }\n"}
	lowered := func(version, header string) (*drivertest.Project, []byte) {
		files["local.h"] = strings.Replace(files["local.h"], "3", header, 1)
		p := drivertest.NewProject(t, version, files)
		p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
		tr, ok := record.LoadTranslation(p.Store, New(p.Store, t.TempDir()).ptxOf(t, p))
		if !ok || tr.Lowered == "" || p.Store.HasObject(tr.Input) {
			t.Fatalf("what the cicc stage keeps: %+v", tr)
		}
		text, err := p.Store.Object(tr.Lowered)
		if err != nil {
			t.Fatal(err)
		}
		return p, text
	}
	_, foreign := lowered("13.0", "5")
	files["local.h"] = strings.Replace(files["local.h"], "5", "3", 1)
	project, good := lowered("13.0", "3")
	if err := os.Remove(filepath.Join(project.Dir, "local.h")); err != nil {
		t.Fatal(err)
	}
	p := loaded(project, "app", "sm_80")
	s := p.kernel(kernel)
	want, _ := p.made(s, "unroll=4")

	for name, c := range map[string]struct {
		text []byte
		why  string
	}{
		"cut off in the kernel": {good[:strings.LastIndex(string(good), "for (")], "lowered"},
		"without the kernel":    {good[:strings.Index(string(good), "__global__")], "no kernel of that name"},
		"another file's":        {foreign, "other code"},
		"no lowered code":       {[]byte("int x;\n"), "lowered"},
		"empty":                 {nil, "lowered"},
	} {
		bad := *s.translation
		var err error
		if bad.Lowered, err = p.Store.PutObject(c.text); err != nil {
			t.Fatal(err)
		}
		refused(t, p, s, &bad, name, c.why)
	}
	gone := *s.translation
	gone.Lowered = cache.Hash([]byte("never kept"))
	refused(t, p, s, &gone, "gone", "no longer in the store")
	gone.Lowered = ""
	refused(t, p, s, &gone, "not kept", "was not kept")

	again := loaded(project, "app", "sm_80")
	if cand, _ := again.made(again.kernel(kernel), "unroll=4"); cand.Cubin != want.Cubin {
		t.Error("the good text gives another candidate afterwards")
	}
}

// ptxOf is the hash of the PTX that a project's only kernel was built from.
func (c *Compiler) ptxOf(t *testing.T, p *drivertest.Project) string {
	t.Helper()
	for _, list := range record.Read(p.Store).Assemblies {
		return list[0].PTX
	}
	t.Fatal("nothing was built")
	return ""
}

// refused builds a kernel with recipes by a translation of which the lowered code is bad: that for the
// source is refused with a reason, and the other one stays.
func refused(t *testing.T, p *program, s *Source, bad *cache.Translation, name, why string) {
	t.Helper()
	ctx, b, done, err := p.c.workbench(context.Background(), Limit, forBuild)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for text, stays := range map[string]bool{"unroll=4": false, "maxnreg=40": true} {
		out, err := b.Build(ctx, s.job, bad, map[string]recipe.Recipe{s.Kernel: drivertest.MustParse(t, text)}, s.std)
		if err != nil {
			t.Errorf("%s, %s: %v", name, text, err)
			continue
		}
		reason := out.Refused[s.Kernel]
		if stays != (reason == nil) || stays != (out.Content != nil) {
			t.Errorf("%s, %s: refused: %v", name, text, reason)
		} else if !stays && !strings.Contains(reason.Error(), why) {
			t.Errorf("%s, %s: refused with %q, want %q", name, text, reason, why)
		}
	}
}

// TestAsked: a call of cicc that wrote no lowered code (nvcc -ptx) is asked for it once.
func TestAskedForLowered(t *testing.T) {
	for _, version := range []string{"12.4", "13.0"} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{"k.cu": strings.Replace(sums, "#include \"local.h\"",
				"static __device__ float scaled(float x) { return __fmul_rn(x, 3); }", 1)})
			p.Gnvcc("-arch=sm_80", "-ptx", "k.cu", "-o", "k.ptx")
			p.Gnvcc("-arch=sm_80", "-cubin", "k.ptx", "-o", "k.cubin")
			q := loaded(p, "k.cubin", "sm_80")
			s := q.kernel("_Z3sumPfi")
			if s.NoSource != "" || s.translation.Lowered == "" {
				t.Fatalf("no source levers: %q", s.NoSource)
			}
			q.made(s, "unroll=4")
			asked, _ := q.c.Spent("cicc")
			if q.kernel("_Z3sumPfi"); asked != 3 { // the lowered code, the untouched slice, the variant
				t.Errorf("%d runs of cicc", asked)
			}
			if now, _ := q.c.Spent("cicc"); now != asked {
				t.Errorf("%d runs of cicc more for what is known", now-asked)
			}
		})
	}
}
