package compile

import (
	"context"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
)

// TestName: with the word in its name ptxas compiles an entry otherwise, and what is left to it is
// compared with nvcc's own build.
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
				if plain.Build.Registers == cand.Build.Registers {
					t.Errorf("%s: the name changes nothing", kernel)
				}
				if (cand.Prove != nil) != left {
					t.Errorf("%s: of what is left to ptxas (%t) the proof is %t", kernel, left, cand.Prove != nil)
				} else if left {
					if err := cand.Prove(ctx); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}
