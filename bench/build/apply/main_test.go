package apply

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// TestRebuild measures a small file on real nvcc. What it gives is not looked at: the machine may
// be busy.
func TestRebuild(t *testing.T) {
	kits.Long(t, "the suite builds and applies, too")
	kit := kits.Need(t, "13.0")
	dir := t.TempDir()
	gnvcc, source, out := filepath.Join(dir, "gnvcc"), filepath.Join(dir, "a.cu"),
		filepath.Join(dir, "out.json")
	if text, err := exec.Command("go", "-C", "../../..", "build", "-o", gnvcc,
		"./cmd/gnvcc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := os.WriteFile(source, []byte("__global__ void a(int *p) { *p = 1; }\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-gnvcc", gnvcc, "-nvcc", kit.Nvcc(), "-pairs", "1", "-out", out}
	if err := Run(context.Background(), append(args, source)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(text), `"Kernels": 1`) || strings.Contains(string(text),
		dir) {
		t.Errorf("%v\n%s", err, text)
	}
	if Run(context.Background(), args) == nil {
		t.Error("no file, no error")
	}
}
