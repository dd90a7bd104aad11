package dataflow_test

import (
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestStride: by how many bytes neighbouring threads are apart, in kernels of ../testdata/index.cu.
func TestStride(t *testing.T) {
	want := map[string]int{"free_100_plain": 4, "free_100_stride": 4, "free_100_wide": 4,
		"free_110_plane": 4, "free_111_space": 4,
		"free_010_rows": 0, "free_000_none": 0, "free_100_order": 4, "seen_constant": 4}
	for _, kit := range ptxtest.Toolkits(t) {
		m, err := ptx.Parse(kit.PTX(t, "../testdata/index.cu", "-arch=sm_80"))
		if err != nil {
			t.Fatal(err)
		}
		for name, bytes := range want {
			if got := dataflow.Stride(m.Entry(name)); got != bytes {
				t.Errorf("%s: %s: %d bytes, want %d", kit.Version, name, got, bytes)
			}
		}
	}
}
