package fold

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestContracts judges sums as every toolkit compiles them.
func TestContracts(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		t.Run(kit.Version, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "k.ptx")
			if text, err := exec.Command(kit.Nvcc(), "-arch=sm_80", "-ptx", "testdata/sums.cu", "-o", out).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			m, err := ptx.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range m.Entries() {
				fixed := Fixed{Params: map[int]bool{}, Dims: map[string]bool{"ntid.x": true}}
				for i := range e.Params {
					fixed.Params[i] = !strings.HasSuffix(e.Params[i].Type, "64") || e.Params[i].Type == "f64"
				}
				_, err := Contracts(m, e.Name, fixed)
				if want := strings.Contains(e.Name, "no_"); want != (err != nil) {
					t.Errorf("%s: %v", e.Name, err)
				}
			}
		})
	}
}
