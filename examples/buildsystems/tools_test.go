package buildsystems

// Bear, Bazel and PyTorch: tools that are large or that most machines do not have.
// install/buildtools fetches the first two.

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestBear(t *testing.T) { onKits(t, tryBear) }

// Bear writes compile_commands.json from what a build runs. Below nvcc it is not to see more of
// ours than of nvcc's own.
func tryBear(s *site) {
	bear := tool(s.t, "bear")
	record := func(compiler string) string {
		s.fresh("testdata/make")
		s.run(bear, "--", "make", "-s", "NVCC="+compiler, "main.o", "scale.o", "shift.o")
		text, err := os.ReadFile(filepath.Join(s.dir, "compile_commands.json"))
		if err != nil {
			s.t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), compiler, "nvcc")
	}
	want := record(s.nvcc())
	if strings.Count(want, `"file"`) != 3 {
		s.t.Fatalf("with nvcc itself:\n%s", want)
	}
	if got := record(link(s.t, "nvcc")); got != want {
		s.t.Errorf("compile_commands.json with nvcc:\n%s\nwith gnvcc called nvcc:\n%s", want, got)
	}
	s.seen()
}

func TestBazel(t *testing.T) { onKits(t, tryBazel) }

func tryBazel(s *site) {
	bazel := tool(s.t, "bazel")
	root := s.t.TempDir()
	// Bazel takes the right to write away
	s.t.Cleanup(func() {
		s.try(bazel, "--output_user_root="+root, "shutdown")
		exec.Command("chmod", "-R", "u+w", root).Run()
	})
	build := func(compiler string, more ...string) []string {
		s.t.Helper()
		args := append([]string{
			"--output_user_root=" + root, "--max_idle_secs=60", "build", "//:mix", "--define=nvcc=" + compiler,
			"--action_env=PATH=/usr/bin:/bin", "--action_env=GNVCC_NVCC=" + s.nvcc(),
		}, more...)
		s.run(bazel, args...)
		return s.cubins("bazel-bin/mix.o")
	}
	s.fresh("testdata/bazel")
	want := build(s.nvcc())
	if got := build(gnvcc); !equal(want, got) {
		s.t.Errorf("other cubins than nvcc's\nnvcc  %v\ngnvcc %v", want, got)
	}
	if s.brief() {
		return
	}
	// A store outside of the sandbox, and what it says now as a part of the action's environment.
	if err := os.MkdirAll(s.store(), 0o700); err != nil {
		s.t.Fatal(err)
	}
	recipes := func() []string {
		text, _ := os.ReadFile(filepath.Join(s.store(), "recipes"))
		return []string{"--sandbox_writable_path=" + s.store(), "--action_env=GNVCC_STORE=" + s.store(),
			fmt.Sprintf("--action_env=GNVCC_RECIPES=%x", sha256.Sum256(text))}
	}
	build(gnvcc, recipes()...)
	s.seen()
	s.decide("maxnreg=32")
	tuned := build(gnvcc, recipes()...)
	if equal(tuned, want) {
		s.t.Error("the recipe was not applied")
	}
	built := s.age("bazel-bin/mix.o")
	if build(gnvcc, recipes()...); !s.age("bazel-bin/mix.o").Equal(built) {
		s.t.Error("nothing has changed, and Bazel builds again")
	}
	s.decide("maxnreg=64")
	if equal(build(gnvcc, recipes()...), tuned) {
		s.t.Error("the recipe has changed, and Bazel serves what was built before")
	}
}

func TestPyTorch(t *testing.T) { onKits(t, tryPyTorch) }

// tryPyTorch needs a PyTorch for CUDA, 4 GB that nobody installs for a test: GNVCC_TEST_PYTHON
// names a python that has one.
func tryPyTorch(s *site) {
	python := os.Getenv("GNVCC_TEST_PYTHON")
	if python == "" {
		python = systemTool(s.t, "python3")
	}
	cuda, err := exec.Command(python, "-c", "import torch; print(torch.version.cuda or '')").Output()
	major, _, _ := strings.Cut(strings.TrimSpace(string(cuda)), ".")
	if err != nil || major == "" {
		s.t.Skip(
			"SKIPPED: no PyTorch for CUDA can be imported; GNVCC_TEST_PYTHON names a python that has one")
	}
	if !strings.HasPrefix(s.version, major+".") {
		s.t.Skipf("SKIPPED: PyTorch for CUDA %s refuses toolkit %s", major, s.version)
	}
	s.limit *= 4 // PyTorch's headers
	s.set("PATH="+filepath.Dir(python)+":"+filepath.Dir(tool(s.t, "ninja"))+":/usr/bin:/bin",
		"CUDA_HOME="+s.kit, "TORCH_CUDA_ARCH_LIST=9.0", "MAX_JOBS=2")
	build := func() []string {
		s.t.Helper()
		s.fresh("testdata/pytorch")
		s.run(python, "build.py")
		return s.cubins("b/axpy.so")
	}
	want := build()
	s.set("PYTORCH_NVCC=" + gnvcc)
	if got := build(); !equal(want, got) {
		s.t.Errorf("other cubins than nvcc's\nnvcc  %v\ngnvcc %v", want, got)
	}
	s.seen()
	if text, _ := os.ReadFile(filepath.Join(s.dir, "b", "build.ninja")); !strings.Contains(
		string(text), gnvcc) {
		s.t.Errorf("PyTorch did not take gnvcc:\n%s", text)
	}
}
