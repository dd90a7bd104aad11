package install

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// TestDist: make dist gives packages of each kind for each machine, whose programs are static and
// tell the version in their names, with checksums that are right. The wheel is installed by pip.
func TestDist(t *testing.T) {
	kits.Long(t, "TestMakeInstall builds the program")
	need(t, "make", "go", "tar", "sha256sum")
	dir := filepath.Join(t.TempDir(), "dist")
	make := func() string {
		output(t, "make", "-C", "..", "dist", "VERSION=9.8.7", "DIST="+dir)
		sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		return string(sums)
	}
	first := make()
	output(t, "sh", "-c", "cd "+dir+" && sha256sum -c --strict SHA256SUMS")
	if n := strings.Count(first, "\n"); n != 4 {
		t.Errorf("%d packages, not 4:\n%s", n, first)
	}
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64,
		"arm64": elf.EM_AARCH64} {
		name := "gnvcc-9.8.7-linux-" + arch
		output(t, "tar", "-C", dir, "-xzf", filepath.Join(dir, name+".tar.gz"))
		for _, program := range []string{"gnvcc", "gnvcc-oci"} {
			f, err := elf.Open(filepath.Join(dir, name, program))
			if err != nil {
				t.Fatal(err)
			}
			dynamic := slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool {
				return p.Type == elf.PT_INTERP
			})
			if f.Machine != machine || dynamic {
				t.Errorf("%s: for %v, needs a loader: %v", name, f.Machine, dynamic)
			}
			f.Close()
		}
	}
	t.Run("links", func(t *testing.T) { links(t, filepath.Join(dir, "gnvcc-9.8.7-linux-amd64")) })
	if strings.TrimSpace(output(t, "uname", "-m")) != "x86_64" {
		t.Skip("SKIPPED: the packages for this machine are like those for amd64, which are tried there")
	}
	says(t, filepath.Join(dir, "gnvcc-9.8.7-linux-amd64", "gnvcc"))
	t.Run("wheel", func(t *testing.T) { wheel(t, dir) })
	if kits.Longer() {
		if again := make(); again != first {
			t.Errorf("a second run gives other bytes:\n%s%s", first, again)
		}
	}
}

// wheel installs the Python wheel into an environment that has NVIDIA's packages, and builds.
func wheel(t *testing.T, dir string) {
	need(t, "python3")
	kit := kits.Any(t)
	env := t.TempDir()
	output(t, "python3", "-m", "venv", "--without-pip", env)
	list, err := filepath.Glob(filepath.Join(dir, "gnvcc-9.8.7-py3-none-*x86_64.whl"))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	output(t, "python3", "-m", "pip", "--python", filepath.Join(env, "bin", "python"), "install",
		"--quiet", "--disable-pip-version-check", "--no-index", list[0])
	program := filepath.Join(env, "bin", "gnvcc")
	says(t, program)
	// The packages unpack into this folder; here it is a link to a toolkit that was made of them.
	sites, err := filepath.Glob(filepath.Join(env, "lib", "python3*", "site-packages"))
	if err != nil || len(sites) != 1 {
		t.Fatal(sites, err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(sites[0], "nvidia"), 0o755),
		os.Symlink(kit.Dir, filepath.Join(sites[0], "nvidia", "cu13"))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-arch=sm_90", "-cubin", "-o", filepath.Join(env, "k.cubin"),
		"-I../examples/common", "../examples/longthreads/longthreads.cu")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + env, "GNVCC_STRICT=1",
		"GNVCC_STORE=" + filepath.Join(env, "store")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// links fails on links of documents that lead nowhere.
func links(t *testing.T, top string) {
	t.Helper()
	link := regexp.MustCompile(`\]\(([^)\s#]+)`)
	n := 0
	err := filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			n++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		return err
	})
	if err != nil || n < 100 {
		t.Errorf("%d links, %v", n, err)
	}
}

// says fails where a program does not tell the version of the package.
func says(t *testing.T, program string) {
	t.Helper()
	if got := output(t, program, "version"); got != "gnvcc 9.8.7\n" {
		t.Errorf("it says that it is %q", got)
	}
	if _, err := exec.LookPath(program + "-oci"); err != nil {
		t.Errorf("what speaks to registries does not stand beside it: %v", err)
	}
}

func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: no %s here", tool)
		}
	}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestCMakeModule: a project that does not know gnvcc is built by it, by the module alone; another
// gets a target that tunes. Without gnvcc both are built by nvcc.
func TestCMakeModule(t *testing.T) {
	need(t, "cmake", "make", "go", "g++")
	kit := kits.Any(t)
	dir := t.TempDir()
	output(t, "go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "bin", "gnvcc"), "../cmd/gnvcc")
	// where no gnvcc is near, as the clone's own would be
	module := filepath.Join(dir, "a", "b", "c", "gnvcc.cmake")
	output(t, "install", "-D", "-m", "644", "gnvcc.cmake", module)
	for name, text := range map[string]string{
		"CMakeLists.txt": "cmake_minimum_required(VERSION 3.18)\ninclude(" + module +
			")\nproject(p CUDA)\nset(CMAKE_CUDA_ARCHITECTURES 90)\nadd_executable(p p.cu)\ngnvcc_tune(p ARGS -n 3)\n",
		"p.cu": "__global__ void k(float *p) { *p = 1; }\nint main() { k<<<1, 1>>>(nullptr); }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, with := range []bool{true, false} {
		path := kit.Dir + "/bin:" + os.Getenv("PATH")
		if with {
			path = dir + "/bin:" + path
		}
		build := filepath.Join(dir, fmt.Sprint("build", with))
		cmd := exec.Command("cmake", "-S", dir, "-B", build, "-DCMAKE_CUDA_ARCHITECTURES=90")
		cmd.Env = append(os.Environ(), "PATH="+path, "GNVCC_STORE="+filepath.Join(dir, "store"), "CUDACXX=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		cache, err := os.ReadFile(filepath.Join(build, "CMakeCache.txt"))
		if err != nil {
			t.Fatal(err)
		}
		by := regexp.MustCompile(`CMAKE_CUDA_COMPILER:\w+=.*`).FindString(string(cache))
		if strings.HasSuffix(by, "/gnvcc") != with {
			t.Errorf("gnvcc in PATH %v: %s", with, by)
		}
		rules, err := os.ReadFile(filepath.Join(build, "CMakeFiles/tune-p.dir/build.make"))
		if with && (err != nil || !strings.Contains(string(rules), "tune --apply -- ")) ||
			!with && err == nil {
			t.Errorf("gnvcc in PATH %v: the target tune-p: %v\n%s", with, err, rules)
		}
	}
}

// TestDockerfile: what the image is made of is here. Where Docker runs, CI builds it.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^COPY (?:--\S+ )?(.*) \S+$`).FindAllStringSubmatch(
		string(text), -1) {
		for _, name := range strings.Fields(m[1]) {
			if _, err := os.Stat(filepath.Join("..", strings.TrimPrefix(name, "/gnvcc/"))); err != nil &&
				!strings.HasPrefix(name, "/gnvcc/bin/") { // made by the image's first stage
				t.Errorf("it copies %s: %v", name, err)
			}
		}
	}
	if n := strings.Count(string(text), "\nFROM "); n != 2 {
		t.Errorf("%d stages", n)
	}
}
