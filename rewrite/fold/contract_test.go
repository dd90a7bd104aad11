package fold

import (
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
