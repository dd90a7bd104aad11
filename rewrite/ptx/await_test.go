package ptx_test

import (
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestAwaits: the kernels of testdata/await.cu say by their names whether their blocks wait for each other.
func TestAwaits(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		t.Run(kit.Version, func(t *testing.T) {
			t.Parallel()
			m, err := ptx.Parse(kit.PTX(t, "testdata/await.cu", "-arch=sm_80"))
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Entries()) != 28 {
				t.Errorf("%d kernels", len(m.Entries()))
			}
			for _, f := range m.Entries() {
				at, err := m.Awaits(f.Name)
				if err != nil {
					t.Errorf("%s: %v", f.Name, err)
				}
				if want := strings.HasPrefix(f.Name, "wait_"); (at != "") != want {
					t.Errorf("%s: waits for %q", f.Name, at)
				}
			}
		})
	}
}
