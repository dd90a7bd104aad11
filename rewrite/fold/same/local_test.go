package same

import (
	"maps"
	"slices"
	"testing"

	"gnvcc/rewrite/ptx/ptxtest"
)

// localText has arrays whose elements' addresses are begun with in several ways.
const localText = `extern "C" __global__ void apart(float *o, const float *b, int n, int m) {
  float x[32], y[16];
  for (int i = 0; i < n; i++) { x[i] = b[i]; y[i & 15] = b[i + 3]; }
  float s = 0;
  for (int i = 0; i < m; i++) s += x[i + 5] * y[(i + 7) & 15];
  for (int i = m; i > 0; i--) s += x[20 - i] * y[12 - i];
  const float *p = m > 3 ? x + 4 : x + 9;
  for (int i = 0; i < m; i++) s += p[i];
  o[threadIdx.x] = s + x[m];
}
extern "C" __global__ void fields(float *o, const float *b, int n, int m) {
  struct { float q[5]; float r[7]; float4 v; } z;
  float w[9];
  for (int i = 0; i < n; i++) { z.q[i] = b[i]; z.r[i] = b[i + n]; w[i] = z.q[m]; }
  z.v = *(float4 *)(b + 16);
  float s = w[m] + z.q[n - 1] * z.r[m] + (&z.v.x)[m & 3];
  for (int i = 3; i < m; i++) s += z.r[i] * w[i + 2] + z.r[i - 1];
  o[threadIdx.x] = s;
}
extern "C" __global__ void either(float *o, const float *b, int n, int m) {
  float x[16], y[16];
  for (int i = 0; i < n; i++) { x[i] = b[i]; y[i] = b[i + 3]; }
  float *p = m > 3 ? x : y;
  for (int i = 0; i < m; i++) p[i] *= b[i];
  o[threadIdx.x] = x[m] + y[n];
}
`

// TestLocalVariables: what cicc takes addresses of are variables, from their beginning, on every
// toolkit; a pointer to one of two makes them one.
func TestLocalVariables(t *testing.T) {
	want := map[string][]int{"apart": {0, 128}, "fields": {0, 64}, "either": {0, 64}}
	for _, kit := range ptxtest.Toolkits(t) {
		m := compiled(t, kit, localText)
		for name, starts := range want {
			g, err := read(built(m, name))
			if err != nil {
				t.Fatal(err)
			}
			vars := g.byName[name].vars
			if got := slices.Sorted(maps.Keys(vars)); !slices.Equal(got, starts) {
				t.Errorf("%s, %s: %v", kit.Version, name, got)
				continue
			}
			if one := vars.find(starts[0]) == vars.find(starts[1]); one != (name == "either") {
				t.Errorf("%s, %s: distinguished: %v", kit.Version, name, !one)
			}
		}
	}
}
