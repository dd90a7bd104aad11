package toolkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
)

// TestIgnored: a CUDA_HOME that names no toolkit is said to, where it is asked for; one that is
// gnvcc's own folder, or is not asked, is not.
func TestIgnored(t *testing.T) {
	dir := t.TempDir()
	drivertest.Program(t, filepath.Join(dir, "cuda/bin/nvcc"), "real")
	drivertest.Program(t, filepath.Join(dir, "text/bin/nvcc"), "no program")
	os.Chmod(filepath.Join(dir, "text/bin/nvcc"), 0o644)
	for settings, want := range map[string]string{
		"":                                   "",
		"CUDA_HOME=/none":                    "CUDA_HOME is /none, which has no bin/nvcc that can be run",
		"CUDA_HOME=/none CUDA_PATH=/no":      "CUDA_HOME is /none, which has no bin/nvcc that can be run|CUDA_PATH is /no, which has no bin/nvcc that can be run",
		"CUDA_HOME=DIR/cuda CUDA_PATH=/no":   "",
		"CUDA_HOME=DIR/text":                 "CUDA_HOME is DIR/text, which has no bin/nvcc that can be run",
		"CUDA_HOME=/none GNVCC_NVCC=DIR/any": "",
	} {
		at := func(s string) string { return strings.ReplaceAll(s, "DIR", dir) }
		got := strings.Join(Ignored(environment.Of(strings.Fields(at(settings)))), "|")
		if got != at(want) {
			t.Errorf("%s: %q, want %q", settings, got, at(want))
		}
	}
	env := environment.Of([]string{"CUDA_HOME=/none", "PATH="})
	if err := notFound(env); !strings.HasPrefix(err.Error(), errNotFound.Error()) ||
		!strings.Contains(err.Error(), "CUDA_HOME is /none") {
		t.Errorf("no nvcc at all: %v", err)
	}
}
