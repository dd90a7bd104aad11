package driver

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
)

// TestPtxasFirst: a PTX that was never seen is at ptxas before gnvcc asks and reads anything that
// only matters later. This ptxas does not say its version before it has been started on a file.
func TestPtxasFirst(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{
		"a.cu": "__global__ void k(float *p) { p[threadIdx.x] *= 2; }\n"})
	shadow := t.TempDir()
	if err := drivertest.ShadowOf(p.Kit, shadow, filepath.Join(p.Dir, "calls")); err != nil {
		t.Fatal(err)
	}
	ptxas := filepath.Join(shadow, "bin", "ptxas")
	if err := os.Remove(ptxas); err != nil {
		t.Fatal(err)
	}
	drivertest.Program(t, ptxas, `#!/bin/sh
if [ "$1" = --version ]; then
  for i in 1 2 3 4 5 6 7 8 9 10; do [ -e '`+p.Dir+`/started' ] && exec '`+p.Kit+`/bin/ptxas' "$@"; sleep 0.5; done
  echo 'nobody has started me' >&2; exit 1
fi
: >'`+p.Dir+`/started'
exec '`+p.Kit+"/bin/ptxas' \"$@\"\n")
	log := filepath.Join(p.Dir, "log")
	p.Env = append(slices.DeleteFunc(p.Env, func(s string) bool {
		return strings.HasPrefix(s, "GNVCC_STRICT=") || strings.HasPrefix(s, "GNVCC_NVCC=")
	}), "GNVCC_NVCC="+shadow+"/bin/nvcc", "GNVCC_LOG="+log)
	p.Gnvcc("-arch=sm_90", "-cubin", "-o", "a.cubin", "a.cu")
	if text, _ := os.ReadFile(log); strings.Contains(string(text), "nvcc's own result") {
		t.Errorf("gnvcc did not get to its end:\n%s", text)
	}
	names, err := os.ReadDir(filepath.Join(p.Store.Path(), "memo", "noted"))
	if err != nil || len(names) != 1 {
		t.Errorf("%d assemblies are noted: %v", len(names), err)
	}
}
