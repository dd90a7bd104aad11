package examples

// The examples build with the real nvcc, through make and through CMake, and refuse to call
// themselves right where they could not run. What they compute can be tested on a GPU only; make
// demo does that.

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// nvcc returns the compiler of a toolkit that install/toolkit laid out.
func nvcc(t *testing.T, version string) string {
	t.Helper()
	return kits.Need(t, version).Nvcc()
}

// run runs a command in a folder and returns what it printed; it fails the test unless the command
// exits as expected.
func run(t *testing.T, ok bool, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	out, err := cmd.CombinedOutput()
	if (err == nil) != ok {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func list(t *testing.T) []string {
	t.Helper()
	names := strings.Fields(run(t, true, "make", "-s", "list"))
	if len(names) < 12 {
		t.Fatalf("only %d examples: %v", len(names), names)
	}
	return names
}

// Every folder with a program is in the lists of both build systems, and has all that an example
// needs.
func TestFolders(t *testing.T) {
	files, err := filepath.Glob("*/*.cu")
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]bool{}
	for _, f := range files {
		folders[filepath.Dir(f)] = true
	}
	cmake, err := os.ReadFile("CMakeLists.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list(t) {
		if !folders[name] {
			t.Errorf("Makefile lists %s, which has no program", name)
		}
		delete(folders, name)
		if !regexp.MustCompile(`\b` + name + `\b`).Match(cmake) {
			t.Errorf("CMakeLists.txt does not list %s", name)
		}
		for _, f := range []string{"Makefile", "CMakeLists.txt", name + ".cu"} {
			text, err := os.ReadFile(filepath.Join(name, f))
			if err != nil {
				t.Error(err)
			} else if strings.HasSuffix(f, ".cu") && !bytes.HasPrefix(text, []byte("// ")) {
				t.Errorf("%s/%s does not begin by saying what it shows", name, f)
			}
		}
	}
	delete(folders, "pytorch") // built by PyTorch: TestPyTorch
	for name := range folders {
		t.Errorf("Makefile does not list %s", name)
	}
}

func TestMake(t *testing.T) {
	compiler := nvcc(t, "13.0")
	out := t.TempDir()
	args := []string{"-j2", "NVCC=" + compiler, "O=" + out}
	all := list(t)
	if !kits.Every() {
		all = all[:2]
		args = append(args, "EXAMPLES="+strings.Join(all, " "))
	}
	run(t, true, "make", args...)
	for _, name := range all {
		program := filepath.Join(out, name, name)
		if _, err := os.Stat(program); err != nil {
			t.Error(err)
			continue
		}
		hidden := exec.Command(program)
		// whatever this machine has: the program sees no GPU
		hidden.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=")
		text, err := hidden.CombinedOutput()
		if err == nil || !strings.Contains(string(text), "no CUDA device") {
			t.Errorf("%s without a GPU: %v, and says %q", name, err, text)
		}
	}
	if again := run(t, true, "make", args...); strings.Contains(again, compiler) {
		t.Errorf("a second make compiles again:\n%s", again)
	}
}

// The program that shows what registers are worth must be one that ptxas gives few, and that takes
// more.
func TestLongthreadsWantsRegisters(t *testing.T) {
	compiler := nvcc(t, "13.0")
	dir := t.TempDir()
	ptx := filepath.Join(dir, "x.ptx")
	run(t, true, compiler, "-arch=sm_90", "-Icommon", "-ptx", "-o", ptx, "longthreads/longthreads.cu")
	text, err := os.ReadFile(ptx)
	if err != nil {
		t.Fatal(err)
	}
	entry := regexp.MustCompile(`(?s)(\.entry \w*column_norm\w*\(.*?\n\))`)
	registers := func(directive string) int {
		if err := os.WriteFile(ptx, entry.ReplaceAll(text, []byte("$1\n"+directive)), 0o644); err != nil {
			t.Fatal(err)
		}
		out := run(t, true, filepath.Join(filepath.Dir(compiler), "ptxas"), "-v", "-arch=sm_90", "-o",
			filepath.Join(dir, "x.cubin"), ptx)
		m := regexp.MustCompile(
			`(?s)entry function '\w*column_norm\w*'.*?Used (\d+) registers`).FindStringSubmatch(out)
		if m == nil {
			t.Fatalf("ptxas -v says nothing of column_norm's registers:\n%s", out)
		}
		n, _ := strconv.Atoi(m[1])
		return n
	}
	if low, high := registers(""), registers(".maxnreg 64"); low > 40 || high < 56 {
		t.Errorf("%d registers by default, %d with a cap of 64: the example shows nothing", low, high)
	}
}

func TestCMake(t *testing.T) {
	kits.Long(t, "TestMake builds examples, too; CMakeLists.txt is two lines")
	compiler := nvcc(t, "13.0")
	if _, err := exec.LookPath("cmake"); err != nil {
		t.Skip("SKIPPED: no cmake here")
	}
	for _, name := range []string{"stencil", "separate"} {
		build := t.TempDir()
		run(t, true, "cmake", "-S", name, "-B", build, "-DCMAKE_CUDA_COMPILER="+compiler)
		run(t, true, "cmake", "--build", build)
		if _, err := os.Stat(filepath.Join(build, name)); err != nil {
			t.Error(err)
		}
	}
}

// Every toolkit that is here compiles every example: the language that they use is the oldest
// one's, which builds whole programs. Of the newest (GNVCC_TESTS=longer: of all others) the front
// ends have to agree, which read all of a file on the way to PTX.
func TestToolkits(t *testing.T) {
	t.Run("11.8", func(t *testing.T) {
		run(t, true, "make", "-j2", "NVCC="+nvcc(t, "11.8"), "ARCH=sm_80", "NVCCFLAGS=-O1",
			"O="+t.TempDir())
	})
	files, err := filepath.Glob("*/*.cu")
	if err != nil || len(files) < len(list(t)) {
		t.Fatalf("%d files: %v", len(files), err)
	}
	versions := []string{"13.5"}
	if kits.Longer() {
		versions = []string{"12.4", "13.3", "13.5"}
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			compiler, out := nvcc(t, version), filepath.Join(t.TempDir(), "x.ptx")
			for _, file := range files {
				run(t, true, compiler, "-arch=sm_80", "-Icommon", "-ptx", "-o", out, file)
			}
		})
	}
}
