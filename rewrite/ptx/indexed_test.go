package ptx_test

import (
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestIndexOnly: the kernels of testdata/index.cu say by their names what they see of the launch's shape.
func TestIndexOnly(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		t.Run(kit.Version, func(t *testing.T) {
			t.Parallel()
			m, err := ptx.Parse(kit.PTX(t, "testdata/index.cu", "-arch=sm_80"))
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Entries()) != 25 {
				t.Errorf("%d kernels", len(m.Entries()))
			}
			for _, f := range m.Entries() {
				use, err := m.IndexOnly(f.Name)
				dims, free := strings.CutPrefix(f.Name, "free_")
				switch {
				case free != (err == nil):
					t.Errorf("%s: %v", f.Name, err)
				case free:
					for d, used := range use.Dims {
						if used != (dims[d] == '1') {
							t.Errorf("%s: %v", f.Name, use.Dims)
						}
					}
				}
			}
		})
	}
}
