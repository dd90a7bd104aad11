package compile

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHostResident: the host code is found beside the PTX, for each target, in folders and under
// names that a pattern would take for its own signs.
func TestHostResident(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `a[b]*\?`)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	host := "# 1 \"k.cu\"\nint main() { cudaLaunchCooperativeKernel(0, 1, 1, 0, 0, 0); }\n"
	for ptx, file := range map[string]string{
		"k[1].ptx":                        "k[1].cudafe1.cpp",
		"tmpxft_1f_0-7_j*.compute_80.ptx": "tmpxft_1f_0-6_j*.compute_90.cudafe1.cpp",
		"tmpxft_1f_0-5_l.ptx":             "tmpxft_1f_0-6_l.cudafe1.cpp",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(host), 0o600); err != nil {
			t.Fatal(err)
		}
		if HostResident(filepath.Join(dir, ptx)) == "" {
			t.Errorf("%s beside %s asks for nothing", file, ptx)
		}
	}
	if why := HostResident(filepath.Join(dir, "m.ptx")); why != "" {
		t.Errorf("m.ptx has no host code: %s", why)
	}
}
