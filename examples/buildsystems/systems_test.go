package buildsystems

// Each build system configures, builds, builds again (nothing to do) and builds after a change,
// with nvcc and with gnvcc in its place; the cubins are the same.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/install/kits"
)

// A system is one build system with one project.
type system struct {
	name     string   // without a comma: it becomes part of a path, and nvcc splits those at commas
	projects []string // folders, copied before each build
	binary   string   // what is compared
	touch    string   // a file that the binary depends on
	usual    bool     // most people build so: tried in every run
	setUp    func(s *site, compiler string)
	build    func(s *site, compiler string)
}

var systems = []system{
	{
		name: "make", projects: []string{"testdata/make"}, binary: "the program", touch: "parts.h",
		usual: true,
		build: func(s *site, compiler string) { s.run("make", "-j2", "NVCC="+compiler) },
	},
	{
		name: "cmake of the machine with make", projects: []string{"testdata/cmake"}, binary: "b/waves",
		touch: "phase.h",
		setUp: func(s *site, compiler string) {
			s.run(systemTool(s.t, "cmake"), "-B", "b", "-DCMAKE_CUDA_COMPILER="+compiler,
				"-DCMAKE_CUDA_ARCHITECTURES=90")
		},
		build: func(s *site, compiler string) { s.run(systemTool(s.t, "cmake"), "--build", "b", "-j2") },
	},
	{
		name: "newest cmake with ninja and CUDACXX", projects: []string{"testdata/cmake"},
		binary: "b/waves", touch: "phase.h",
		setUp: func(s *site, compiler string) {
			s.set("CUDACXX=" + compiler)
			s.run(tool(s.t, "cmake"), "-B", "b", "-G", "Ninja", "-DCMAKE_MAKE_PROGRAM="+tool(s.t, "ninja"),
				"-DCMAKE_CUDA_ARCHITECTURES=80;90")
			s.set("CUDACXX")
		},
		build: func(s *site, compiler string) { s.run(tool(s.t, "cmake"), "--build", "b", "-j2") },
	},
	{
		name: "cmake with separate compilation", projects: []string{"../separate", "../common"},
		binary: "b/separate", touch: "separate/field.h",
		setUp: func(s *site, compiler string) {
			s.run(systemTool(s.t, "cmake"), "-S", "separate", "-B", "b", "-DCMAKE_CUDA_COMPILER="+compiler)
		},
		build: func(s *site, compiler string) { s.run(systemTool(s.t, "cmake"), "--build", "b", "-j2") },
	},
	{
		name: "cmake with FindCUDA", projects: []string{"testdata/findcuda"}, binary: "b/ripple",
		touch: "ring.h",
		setUp: func(s *site, compiler string) {
			// a -D of that name is forgotten where CUDA_TOOLKIT_ROOT_DIR is set
			s.set("CUDA_NVCC_EXECUTABLE=" + compiler)
			s.run(systemTool(s.t, "cmake"), "-B", "b", "-DCUDA_TOOLKIT_ROOT_DIR="+s.kit)
			s.set("CUDA_NVCC_EXECUTABLE")
		},
		build: func(s *site, compiler string) {
			// the dependencies that the first build finds make the second one link again, with nvcc itself
			// too
			for range 2 {
				s.run(systemTool(s.t, "cmake"), "--build", "b", "-j2")
			}
		},
	},
	{
		name: "meson", projects: []string{"testdata/meson"}, binary: "b/grid", touch: "grid.cu",
		setUp: func(s *site, compiler string) {
			native := filepath.Join(s.dir, "native.ini")
			if err := os.WriteFile(native, []byte("[binaries]\ncuda = '"+compiler+"'\nninja = '"+
				tool(s.t, "ninja")+"'\n"), 0o644); err != nil {
				s.t.Fatal(err)
			}
			s.set("NINJA=" + tool(s.t, "ninja"))
			s.run(tool(s.t, "meson"), "setup", "--native-file", "native.ini", "b")
		},
		build: func(s *site, compiler string) { s.run(tool(s.t, "ninja"), "-C", "b") },
	},
	{
		name: "PyTorch extension by its build.ninja", projects: []string{"testdata/torch"},
		binary: "axpy.so", touch: "extension.cu",
		setUp: func(s *site, compiler string) {
			template := filepath.Join(s.dir, "build.ninja.template")
			text, err := os.ReadFile(template)
			if err != nil {
				s.t.Fatal(err)
			}
			expanded := strings.NewReplacer("@NVCC@", compiler, "@CUDA_HOME@", s.kit).Replace(string(text))
			if err := os.WriteFile(filepath.Join(s.dir, "build.ninja"), []byte(expanded),
				0o644); err != nil {
				s.t.Fatal(err)
			}
		},
		build: func(s *site, compiler string) { s.run(tool(s.t, "ninja")) },
	},
}

// whole builds a project from nothing and gives its cubins.
func (y system) whole(s *site, compiler string) []string {
	s.t.Helper()
	s.fresh(y.projects...)
	if y.setUp != nil {
		y.setUp(s, compiler)
	}
	y.build(s, compiler)
	return s.cubins(y.binary)
}

func TestSystems(t *testing.T) {
	for _, y := range systems {
		t.Run(y.name, func(t *testing.T) {
			if y.usual {
				usually(t, y.try)
			} else {
				onKits(t, y.try)
			}
		})
	}
}

func (y system) try(s *site) {
	t := s.t
	want := y.whole(s, s.nvcc())
	compilers := []string{gnvcc}
	if kits.Longer() && !s.brief() { // other names by themselves: TestNames
		compilers = append(compilers, link(t, "nvcc"))
	}
	for _, compiler := range compilers {
		if got := y.whole(s, compiler); !equal(want, got) {
			if again := y.whole(s, s.nvcc()); !equal(want, again) {
				t.Fatalf("two builds by nvcc itself differ, so that nothing can be compared:\n%v\n%v", want,
					again)
			}
			t.Fatalf("built with %s: other cubins than nvcc's\nnvcc  %v\ngnvcc %v", compiler, want, got)
		}
		s.seen()
		if s.brief() {
			continue
		}

		built := s.age(y.binary)
		y.build(s, compiler)
		if !s.age(y.binary).Equal(built) {
			t.Errorf("built with %s: a second build makes %s again", compiler, y.binary)
		}

		now := time.Now().Add(2 * time.Second) // above the resolution of every file system
		if err := os.Chtimes(filepath.Join(s.dir, y.touch), now, now); err != nil {
			t.Fatal(err)
		}
		y.build(s, compiler)
		if s.age(y.binary).Equal(built) {
			t.Errorf("built with %s: %s changed and %s was not made again", compiler, y.touch, y.binary)
		}
	}
}
