package compile

import (
	"context"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/rewrite/recipe"
)

// TestName: with the word in its name ptxas compiles an entry otherwise; which sums are contracted
// is written into it before.
func TestName(t *testing.T) {
	const host = "spec{host(block)=64x1x1,host(dynamic)=0}"
	ctx := context.Background()
	for _, version := range []string{"11.8", "12.4", "13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{"k.cu": rewrittenText})
			p.Gnvcc("-arch=sm_90", "k.cu", "-o", "app")
			c, hash := New(p.Store, t.TempDir()), p.Cubin("app", "sm_90")
			for kernel, left := range map[string]bool{"_Z7complexPdPKdi": true, "_Z3dotPfPKfi": false} {
				s, r := named(t, c, hash, kernel, host+" name=cutlass")
				plain, err := c.Compile(ctx, s, drivertest.MustParse(t, host))
				if err != nil {
					t.Fatal(err)
				}
				cand, err := c.Compile(ctx, s, r)
				if err != nil {
					t.Fatal(err)
				}
				if of, second := kernelOf(cand.Entry); of != kernel || !second ||
					!strings.HasSuffix(cand.Entry, "_cutlass") {
					t.Errorf("the entry %s is %s's", cand.Entry, of)
				}
				if !left && plain.Build.Registers == cand.Build.Registers { // its text is the kernel's own
					t.Errorf("%s: the name changes nothing", kernel)
				}
				_, b, done, err := c.workbench(ctx, Limit, forOne)
				if err != nil {
					t.Fatal(err)
				}
				defer done()
				_, whole, bad, err := b.rewritten(ctx, s.job, s.translation, s.Module,
					map[string]recipe.Recipe{kernel: r}, s.std)
				if err != nil || len(bad) > 0 {
					t.Fatal(err, bad)
				}
				if leaves(s.Module, kernel) != left || leaves(whole, cand.Entry) && cand.Prove == nil {
					t.Errorf("%s: which sums are contracted is left to ptxas, and nobody looks", kernel)
				}
				if err := b.likeOwn(ctx, s.job, s.Module, kernel, whole, cand.Entry, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
