package same

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestTurns: the rest of a loop that is unrolled by 4 is a loop, that of one that is unrolled by 2
// is one instruction, which stands for no two turns. The one is taken for the other where nothing
// can have been computed by the compiler. Not so where a turn rounds its product by itself, or
// multiplies other factors.
func TestTurns(t *testing.T) {
	const text = `extern "C" __global__ void k(float *__restrict__ o, const float *__restrict__ a,
    const float *__restrict__ b, int n) { int t = threadIdx.x; float s = 0;
for (int k = 0; k < n; k++) s += a[t + k] * b[k];
o[t] = s; }
`
	last := regexp.MustCompile(`fma\.rn\.f32\s+(%f\d+), (%f\d+), (%f\d+), (%f\d+);`)
	twins := map[string]string{
		"as it is":       "",
		"rounded":        "mul.rn.f32 %f999, $2, $3; add.rn.f32 $1, %f999, $4;",
		"left to ptxas":  "mul.f32 %f999, $2, $3; add.f32 $1, %f999, $4;",
		"another factor": "fma.rn.f32 $1, $2, $2, $4;",
		"a product more": "mul.rn.f32 %f999, $2, $2; fma.rn.f32 $1, %f999, $3, $4;",
		"another sum":    "fma.rn.f32 $1, $2, $3, $2;",
	}
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		def := built(compiled(t, kit, unrolled(text, 2)), "k")
		code := string(compiled(t, kit, unrolled(text, 4)).Bytes())
		code = strings.Replace(code, "{\n", "{\n.reg .f32 %f999;\n", 1)
		turn := -1 // the loop's, which adds to itself
		for _, m := range last.FindAllStringSubmatchIndex(code, -1) {
			if code[m[2]:m[3]] == code[m[8]:m[9]] {
				turn = m[0]
			}
		}
		if turn < 0 {
			t.Fatalf("%s: the rest of the loop is none:\n%s", kit.Version, code)
		}
		for name, with := range twins {
			twin := code
			if with != "" {
				twin = code[:turn] + last.ReplaceAllString(code[turn:], with)
			}
			m, err := ptx.Parse([]byte(twin))
			if err != nil {
				t.Fatal(err)
			}
			for _, unfolded := range []bool{true, false} {
				def.Unfolded = unfolded
				_, err = Same(def, built(m, "k"), fold.Fixed{})
				if (err == nil) != (with == "" && unfolded) {
					t.Errorf("%s, %s, unfolded %t: %v", kit.Version, name, unfolded, err)
				}
			}
		}
	}
}
