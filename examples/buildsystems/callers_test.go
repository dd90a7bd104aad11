package buildsystems

// The ways in which gnvcc is called that are no build system: under other names, in a chain, with
// next to no environment, through CMake's launcher.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wanted are the cubins of the example that compile compiles, as nvcc itself makes them, by
// toolkit.
var wanted = map[string][]string{}

// want gives these cubins; a toolkit makes them once.
func (s *site) want() []string {
	s.t.Helper()
	if wanted[s.kit] == nil {
		wanted[s.kit] = s.compile(s.nvcc())
	}
	return wanted[s.kit]
}

// compile compiles one example with a command, and gives its cubins.
func (s *site) compile(command ...string) []string {
	s.t.Helper()
	s.fresh("../stencil", "../common")
	args := append(command[1:], "-O3", "-arch=sm_90", "-Icommon", "-c", "stencil/stencil.cu", "-o",
		"out.o")
	s.run(command[0], args...)
	return s.cubins("out.o")
}

func TestNames(t *testing.T) { onKits(t, tryNames) }

func tryNames(s *site) {
	t := s.t
	s.dir = filepath.Join(filepath.Dir(s.dir), "a project's folder, größer")
	want := s.want()
	names := []string{"gnvcc", "nvcc", "nvcc-13", "my compiler"}
	if s.brief() {
		names = names[2:]
	}
	for _, name := range names {
		if got := s.compile(link(t, name)); !equal(want, got) {
			t.Errorf("called %q: other cubins than nvcc's", name)
		}
	}
	s.seen()

	// First in PATH under the name nvcc, without GNVCC_NVCC: the real one is found behind it.
	own := link(t, "nvcc")
	s.set("GNVCC_NVCC", "PATH="+filepath.Dir(own)+":"+s.kit+"/bin:/usr/bin:/bin")
	if got := s.compile("/bin/sh", "-c", `exec nvcc "$@"`, "sh"); !equal(want, got) {
		t.Error("found in PATH as nvcc: other cubins than nvcc's")
	}
	// It answers for itself as nvcc does.
	if got := s.run(own, "--version"); !strings.Contains(got, "Cuda compilation tools") {
		t.Errorf("nvcc --version through the link says\n%s", got)
	}
}

// Bazel runs compilers in a folder of links to read-only sources, with a bare environment and no
// HOME.
func TestSandbox(t *testing.T) { onKits(t, trySandbox) }

func trySandbox(s *site) {
	t := s.t
	want := s.want()
	for name, env := range map[string][]string{
		"PATH and GNVCC_NVCC": {"PATH=/usr/bin:/bin", "GNVCC_NVCC=" + s.kit + "/bin/nvcc"},
		"PATH and CUDA_HOME":  {"PATH=/usr/bin:/bin", "CUDA_HOME=" + s.kit},
		"nvcc in PATH":        {"PATH=" + s.kit + "/bin:/usr/bin:/bin"},
		"HOME is not there": {"PATH=/usr/bin:/bin", "GNVCC_NVCC=" + s.kit + "/bin/nvcc",
			"HOME=/nonexistent"},
		"store is not allowed": {"PATH=/usr/bin:/bin", "GNVCC_NVCC=" + s.kit + "/bin/nvcc",
			"GNVCC_STORE=/proc/gnvcc"},
	} {
		t.Run(name, func(t *testing.T) {
			if s.brief() && env[0] == "PATH=/usr/bin:/bin" && name != "store is not allowed" {
				t.Skip("SKIPPED: for time's sake; " + mainKit + " has it")
			}
			b := *s
			b.t, b.env = t, env
			if got := b.compile(gnvcc); !equal(want, got) {
				t.Error("other cubins than nvcc's")
			}
		})
	}

	t.Run("links to read-only sources", func(t *testing.T) {
		b := *s
		b.t, b.env = t, []string{"PATH=/usr/bin:/bin", "GNVCC_NVCC=" + s.kit + "/bin/nvcc"}
		b.fresh("../stencil", "../common")
		source := filepath.Join(t.TempDir(), "source")
		if err := os.Rename(b.dir, source); err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{"stencil/stencil.cu", "common/example.h"} {
			if err := os.Chmod(filepath.Join(source, f), 0o444); err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(b.dir, f)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(source, f), to); err != nil {
				t.Fatal(err)
			}
		}
		before := b.run("find", ".", "-newer", "stencil/stencil.cu", "-type", "f")
		b.run(gnvcc, "-O3", "-arch=sm_90", "-Icommon", "-c", "stencil/stencil.cu", "-o", "out.o")
		if got := b.cubins("out.o"); !equal(want, got) {
			t.Error("other cubins than nvcc's")
		}
		if after := b.run("find", ".", "-newer", "stencil/stencil.cu", "-type", "f"); after != before+
			"./out.o\n" {
			t.Errorf("left in the sandbox beside out.o:\n%s", after)
		}
	})
}

// CMAKE_CUDA_COMPILER_LAUNCHER: gnvcc stands behind a launcher, as ccache and distcc do it.
func TestLauncher(t *testing.T) { onKits(t, tryLauncher) }

func tryLauncher(s *site) {
	t := s.t
	launcher := filepath.Join(t.TempDir(), "launcher")
	if err := os.WriteFile(launcher,
		[]byte("#!/bin/sh\necho \"$1\" >> \"$HOME/launched\"\nexec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	build := func(compiler string, more ...string) []string {
		s.fresh("../stencil", "../common")
		s.run(systemTool(t, "cmake"),
			append([]string{"-S", "stencil", "-B", "b", "-DCMAKE_CUDA_COMPILER=" + compiler}, more...)...)
		s.run(systemTool(t, "cmake"), "--build", "b")
		return s.cubins("b/stencil")
	}
	want := build(filepath.Join(s.kit, "bin", "nvcc"))
	if got := build(gnvcc, "-DCMAKE_CUDA_COMPILER_LAUNCHER="+launcher); !equal(want, got) {
		t.Error("other cubins than nvcc's")
	}
	if text, _ := os.ReadFile(filepath.Join(s.home, "launched")); !strings.Contains(string(text),
		gnvcc) {
		t.Errorf("the launcher did not launch gnvcc but %q", text)
	}
}
