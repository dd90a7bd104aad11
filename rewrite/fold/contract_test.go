package fold

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx/ptxtest"
)

// TestContracts judges sums as every toolkit compiles them.
func TestContracts(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		t.Run(kit.Version, func(t *testing.T) {
			m := read(t, kit, "testdata/sums.cu")
			for _, e := range m.Entries() {
				fixed := Fixed{Params: map[int]bool{}, Dims: map[string]bool{"ntid.x": true}}
				for i := range e.Params {
					fixed.Params[i] = !strings.HasSuffix(e.Params[i].Type, "64") || e.Params[i].Type == "f64"
				}
				if strings.Contains(e.Name, "unrolled_") {
					fixed = Fixed{}
				}
				_, err := Contracts(m, e.Name, fixed)
				if want := strings.Contains(e.Name, "no_"); want != (err != nil) {
					t.Errorf("%s: %v", e.Name, err)
				}
			}
		})
	}
}

// TestConstraints: what cicc puts for a value behind a comparison. Constraints rests on the cases
// that it leaves.
func TestConstraints(t *testing.T) {
	conditions := []struct {
		text string
		seen bool
	}{{"v == 3.0f", true}, {"-v == 3.0f", true}, {"v >= 3.0f && v <= 3.0f", true},
		{"k + 1 == 3", true}, {"(k ^ 5) == 3", true}, {"k > 2 && k < 4", true},
		{"v == 0.0f", false}, {"v >= 0.0f && v <= 0.0f", false}, {"v * 2.0f == 6.0f", false},
		{"v - 3.0f == 0.0f", false}, {"(int)v == 3", false}, {"k < 3", false}, {"(int)v + 1 == k", false}}
	text := ""
	for n, c := range conditions {
		text += fmt.Sprintf("extern \"C\" __global__ void k%d(float *a, const float *b, const int *c) {"+
			"int t = threadIdx.x; float v = b[t]; int k = c[t];"+
			"if (%s) { a[t] = v * 0.7f; a[t + 64] = (float)k * 0.3f; } }\n", n, c.text)
	}
	file := filepath.Join(t.TempDir(), "k.cu")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kit := range ptxtest.Toolkits(t) {
		m := read(t, kit, file)
		for n, c := range conditions {
			body := string(m.Entry(fmt.Sprint("k", n)).Text())
			if got := strings.Count(body, "mul.f32") < 2; got != c.seen {
				t.Errorf("%s: %s: seen %t", kit.Version, c.text, got)
			}
		}
	}
}
