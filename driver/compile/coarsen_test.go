package compile

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/rewrite/manner"
	"gnvcc/sim/cubin"
)

// TestNamesOfSeconds: of several targets of one compile one stub chooses for all, and launches what
// it finds by its name. So no two entries of one name are launched in two ways.
func TestNamesOfSeconds(t *testing.T) {
	const host = "spec{host(block)=256x1x1,host(dynamic)=0}"
	name := func(text string) string {
		seconds, err := secondsOf("k", drivertest.MustParse(t, text))
		if err != nil || len(seconds) != 1 {
			t.Fatalf("%s: %d, %v", text, len(seconds), err)
		}
		if of, ok := kernelOf(seconds[0].name); of != "k" || !ok {
			t.Errorf("%s is no second entry of k", seconds[0].name)
		}
		return seconds[0].name
	}
	seen := map[string]string{}
	for _, text := range []string{host, "coarsen=2x1x1 " + host, "coarsen=4x1x1 " + host,
		"coarsen=1x2x1 " + host, "shape=128x1x1 " + host, "shape=64x1x1 " + host} {
		if other := seen[name(text)]; other != "" {
			t.Errorf("%s and %s have one name", text, other)
		}
		seen[name(text)] = text
	}
	for _, text := range []string{"hint@ld=cs " + host, "throttle=3 " + host} { // launched in the same grid
		if name(text) != name(host) {
			t.Errorf("%s has a name of its own", text)
		}
	}
}

// TestCoarseCandidates: code of its own for each value, which is launched in a smaller grid.
func TestCoarseCandidates(t *testing.T) {
	for _, version := range []string{"11.8", "13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{"k.cu": `
__global__ void plane(const float *a, float *b, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) b[y * w + x] = a[y * w + x] + a[x];
}
int main() { plane<<<1, 1>>>(0, 0, 0, 0); }
`})
			p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
			c, ctx := New(p.Store, t.TempDir()), context.Background()
			hash := p.Cubin("app", "sm_80")
			s, err := c.Kernel(hash, "_Z5planePKfPfii")
			if err != nil {
				t.Fatal(err)
			}
			const host = " spec{host(block)=16x16x1,host(dynamic)=0}"
			var codes [][]byte
			for text, want := range map[string]manner.Manner{
				host:                   {},
				"coarsen=2x1x1" + host: {Coarse: [3]int{2, 1, 1}},
				"coarsen=1x4x1" + host: {Coarse: [3]int{1, 4, 1}},
				"coarsen=2x1x1 maxnreg=24 throttle=2" + host: {Coarse: [3]int{2, 1, 1},
					Reserve: manner.Reserve{On: true, Dynamic: 3072, Carveout: 0, Binary: 80}},
			} {
				cand, err := c.Compile(ctx, s, drivertest.MustParse(t, text))
				if err != nil {
					t.Errorf("%s: %v", text, err)
					continue
				}
				if cand.Manner != want || !strings.Contains(cand.Entry, "__tuned_") {
					t.Errorf("%s: %+v", text, cand)
				}
				content, err := os.ReadFile(cand.Path)
				if err != nil {
					t.Fatal(err)
				}
				code, _, err := cubin.ReadCode(content)
				i := slices.IndexFunc(code, func(f cubin.Code) bool { return f.Name == cand.Entry })
				if err != nil || i < 0 {
					t.Fatalf("%s: %v, %d functions", text, err, len(code))
				}
				for _, other := range codes {
					if bytes.Equal(other, code[i].Data) {
						t.Errorf("%s has another value's code", text)
					}
				}
				codes = append(codes, code[i].Data)
			}
			for text, want := range map[string]string{
				"coarsen=2x1x1":                       "second entry",
				"coarsen=1x1x2" + host:                "does not read blockIdx.z",
				"coarsen=2x1x1 shape=64x4x1" + host:   "shape",
				"coarsen=2x2x1" + host:                "one of the three",
				"coarsen=2x1x1 spec{host(dynamic)=0}": "host(block)",
			} {
				if cand, err := c.Compile(ctx, s, drivertest.MustParse(t, text)); err == nil ||
					!strings.Contains(err.Error(), want) {
					t.Errorf("%s: %+v, %v", text, cand, err)
				}
			}
		})
	}
}
