package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPyTorch runs the commands of pytorch/train.py's first lines. What needs no PyTorch is done everywhere: the
// kernels are built by the real nvcc through gnvcc, and take recipes.
func TestPyTorch(t *testing.T) {
	compiler, dir := nvcc(t, "13.0"), t.TempDir()
	run(t, true, "go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "gnvcc"), "../cmd/gnvcc")
	run(t, true, "cp", "pytorch/train.py", "pytorch/extension.cpp", "pytorch/kernels.cu", dir)
	t.Chdir(dir)
	t.Setenv("GNVCC_NVCC", compiler)
	t.Setenv("GNVCC_STORE", filepath.Join(dir, "store"))
	t.Setenv("CUDA_HOME", filepath.Dir(filepath.Dir(compiler)))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	run(t, true, "gnvcc", "-arch=sm_90", "-Xcompiler", "-fPIC", "-c", "kernels.cu")
	for _, kernel := range []string{"cdist", "depthwise", "norm"} {
		run(t, true, "gnvcc", "pin", "-n", kernel, "unroll=4")
	}
	if exec.Command("python3", "-c", "import torch; assert torch.cuda.is_available()").Run() != nil {
		t.Skip("SKIPPED: " + run(t, false, "python3", "train.py"))
	}
	text, err := os.ReadFile("train.py")
	commands := regexp.MustCompile(`(?m)^    PYTORCH_NVCC.*`).FindAllString(string(text), -1)
	if err != nil || len(commands) != 3 {
		t.Fatalf("train.py shows %q, %v", commands, err)
	}
	digests := map[string]bool{}
	for _, command := range commands {
		out := run(t, true, "sh", "-c", strings.Replace(command, " python ", " python3 ", 1))
		digests[regexp.MustCompile(`centres [0-9a-f]{16}`).FindString(out)] = true
	}
	if len(digests) != 1 || digests[""] {
		t.Errorf("the runs print %v", digests)
	}
}
