package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// TestSecondToolkit: another toolkit that becomes the default does not change what apply builds with, and
// status says which ptxas the recipes are for.
func TestSecondToolkit(t *testing.T) {
	first, second := kits.Need(t, "13.0"), kits.Need(t, "13.5")
	all := t.TempDir()
	for name, kit := range map[string]kits.Kit{"13.0": first, "13.5": second} {
		if err := os.Symlink(kit.Dir, filepath.Join(all, name)); err != nil {
			t.Fatal(err)
		}
	}
	choose := func(version string) {
		os.Remove(filepath.Join(all, "default"))
		if err := os.Symlink(version, filepath.Join(all, "default")); err != nil {
			t.Fatal(err)
		}
	}
	s := newSite(t, "", kits.Short(), "GNVCC_TOOLKITS="+all, "CUDA_HOME=", "CUDA_PATH=", "PATH=/usr/bin:/bin")
	s.write("k.cu", "__global__ void k(float *p, int n) { for (int i = 0; i < n; i++) p[i] = p[i + 1] * 2; }\n")
	build := []string{"-arch=sm_90", "-c", "k.cu", "-o", "k.o"}
	choose("13.0")
	s.good(build...)
	s.good("pin", "k", "maxnreg=24")
	choose("13.5")
	if out := s.good("apply"); !strings.Contains(out, "maxnreg=24") || strings.Contains(out, "left alone") {
		t.Errorf("apply after another default: %s", out)
	}
	if out := s.good("status"); !strings.Contains(out, "maxnreg=24") {
		t.Errorf("status: %s", out)
	}
	s.good(build...) // by 13.5: other code, by another ptxas
	out := s.good("status")
	if !strings.Contains(out, "ptxas 13.0") || !strings.Contains(out, "13.5") {
		t.Errorf("status does not name both: %s", out)
	}
}
