package check

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gnvcc/cache"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestForms: the slow path of a function, which unrolling copies, stands in nvcc's own code as well;
// an unrolled body does not, and what it alone has must run.
func TestForms(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		for name, c := range map[string]struct {
			body string
			m    int32
			want string
		}{
			"slow path":        {"for (int j = 0; j < m; j++) s += sinf(x[j + t]) * y[j];", 21, "all"},
			"rare ways":        {"for (int j = 0; j < m; j++) { float v = x[j + t] * y[j]; if (v > 1e20f) v = v * y[1] + y[2]; s += v * 3.f; }", 21, "all"},
			"short":            {"for (int j = 0; j < m; j++) s += x[j + t] * y[j];", 3, "same"},
			"short, slow path": {"for (int j = 0; j < m; j++) s += sinf(x[j + t]) * y[j];", 3, "same"},
			"rows":             {"for (int j = k[0]; j < k[1]; j++) s += x[j + t] * y[j];", 0, "never"},
		} {
			var counts []*cache.Counts
			for _, factor := range []int{1, 4} {
				source := filepath.Join(t.TempDir(), "k.cu")
				text := fmt.Sprintf(`extern "C" __global__ void k(float *__restrict__ out, const float *__restrict__ x,
const float *__restrict__ y, int *__restrict__ k, int m, int n, int mode) { int t = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;
#pragma unroll %d
%s
out[t] = s; }`, factor, c.body)
				if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				counts = append(counts, countedIn(t, kit, kit.PTX(t, source, "-arch=sm_90"), "k", c.m, 0, 0))
			}
			v, is := CoverageOf(counts[:1], counts[1:]), "all"
			switch {
			case v.Never() != "":
				is = "never"
			case v.Unchecked() != "":
				is = "same"
			}
			if is != c.want {
				t.Errorf("%s: %q, want %q: %+v, own %v of %v, variant %v of %v, data %v", name, is, c.want, v, counts[0].Wanted, counts[0].Blocks,
					counts[1].Wanted, counts[1].Blocks, counts[1].Data)
			}
		}
	}
}
