package driver

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
	"gnvcc/driver/record"
	"gnvcc/install/kits"
)

// Command lines with nvcc and with gnvcc, one after the other in the same folder: the same exit
// code, the same messages, the same files with the same content.

// alike are the command lines. %K is the toolkit. Each is a line of sh.
var alike = []string{
	"nvcc -arch=sm_80 -c k.cu",
	"nvcc -arch=sm_80 -c k.cu -o out/k.o -MD -MF out/k.d",
	"nvcc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90] -c k.cu -t 2",
	"nvcc -arch=compute_80 -code=sm_80,sm_86 --fatbin k.cu",
	"nvcc -arch=compute_90 -c k.cu",
	"nvcc -arch=sm_80 -rdc=true -c k.cu host.cpp",
	"nvcc -arch=sm_80 -dc k.cu && nvcc -arch=sm_80 -dlink k.o -o dlink.o",
	"nvcc -arch=sm_80 -ptx k.cu",
	"nvcc -arch=sm_80 --cubin k.cu other.cu",
	"nvcc -arch=sm_80 --cubin k.ptx",
	"nvcc -arch=sm_80 -E k.cu -o k.ii && nvcc -arch=sm_80 -M k.cu && nvcc -MM k.cu",
	"nvcc -arch=sm_80 -c --keep --keep-dir out k.cu",
	"nvcc -arch=sm_80 -save-temps --cubin k.cu",
	"nvcc -arch=sm_80 -G --cubin k.cu",
	"nvcc -arch=sm_80 -lineinfo --cubin k.cu",
	"nvcc -arch=sm_80 --resource-usage --cubin k.cu",
	"nvcc -arch=sm_80 -Xptxas -O1,-warn-spills -Xptxas=-warn-lmem-usage -maxrregcount=24 --cubin k.cu",
	"nvcc -arch=sm_80 -optf options -c k.cu",
	"nvcc -arch=sm_80 --cubin -x cu - -o stdin.cubin <k.cu",
	"nvcc -arch=sm_80 --cubin 'a name $HOME `x` \"q\" äöü.cu'",
	"NVCC_PREPEND_FLAGS=-arch=sm_86 NVCC_APPEND_FLAGS='--cubin -Xptxas -v' nvcc k.cu 2>&1 | grep -v 'Compile time'",
	"nvcc -arch=sm_80 --cubin --ptxas-prefix 'env A=b' --cicc-prefix='env C=d' k.cu",
	"nvcc -arch=sm_80 --all-prefix env --cubin none.cu",
	"nvcc -arch=sm_80 --dryrun -c k.cu 2>&1 | grep -c ptxas",
	"nvcc -arch=sm_80 -dlto -c k.cu",
	"nvcc -arch=sm_80 -lib k.cu host.cpp -o lib.a",
	"nvcc -arch=sm_80 k.cu host.cpp -o app && ./app && rm app",
	"nvcc -arch=sm_80 -run k.cu host.cpp --run-args a,b; rm -f a.out",
	"nvcc -arch=native --cubin k.cu",
	"nvcc -arch=sm_12345 -c k.cu",
	"nvcc -arch=sm_80 -c none.cu",
	"nvcc -arch=sm_80 -c k.cu -o out",
	"nvcc -arch=sm_80 -c k.cu -o /nowhere/k.o",
	"nvcc @options -c k.cu",
	"nvcc",
	"nvcc --help | head -3; nvcc -h | wc -l; nvcc --list-gpu-arch",
	"TMPDIR=/nowhere nvcc -arch=sm_80 --cubin k.cu",
	"nvcc -arch=sm_80 -c error.cu other.cu",
	"nvcc -arch=sm_80 -c ptxerror.cu",
	"nvcc -arch=sm_80 -split-compile=2 --cubin k.cu",
	"nvcc -arch=sm_80 -c k.cu >&- 2>&-",
	"mkdir gone && cd gone && rmdir ../gone && nvcc -arch=sm_80 --cubin ../k.cu",
	"cp k.cu o.cu && nvcc -arch=sm_80 -c o.cu -o o.cu",
}

var alikeFiles = map[string]string{
	"k.cu":                          "#include \"k.h\"\n#include <cstdio>\n__device__ int counter;\nstatic __global__ void hidden(float *p) { p[1] = 2; }\n__global__ void k(float *p) { p[threadIdx.x] += VALUE; counter++; }\nvoid host();\nint main(int n, char **) { k<<<1, 1>>>(nullptr); hidden<<<1, 1>>>(nullptr); host(); printf(\"%d\\n\", n); return 3; }\n",
	"k.h":                           "#define VALUE 3\n",
	"other.cu":                      "__global__ void other(double *p) { *p = *p / 3; }\n",
	"a name $HOME `x` \"q\" äöü.cu": "__global__ void odd(double *p) { *p = *p / 3; }\n",
	"k.ptx":                         small["k.ptx"],
	"host.cpp":                      "void host() {}\n",
	"options":                       "-DX=1\n -lineinfo\n--ptxas-options=-v -Xptxas -w\n",
	"error.cu":                      "__global__ void bad(float *p) { p[0] = nothing; }\n",
	"ptxerror.cu":                   "__global__ void bad() { asm(\"nonsense;\"); }\n",
	"out/.keep":                     "",
}

// What differs between two runs of nvcc itself: names with the process' number, times.
var volatile = []*regexp.Regexp{
	regexp.MustCompile(`tmpxft_[0-9a-f]{8}`), regexp.MustCompile(`Compile time = +[0-9.]+ ms`),
}

func steady(text []byte) string {
	for _, re := range volatile {
		text = re.ReplaceAll(text, []byte("~"))
	}
	return string(text)
}

// filesOf reads all files below a folder.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[steady([]byte(strings.TrimPrefix(path, dir)))] = info.Mode().String() + " " + steady(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestAlike compares on the toolkit of the demo; with GNVCC_TESTS=longer on all that are installed,
// each line three times.
func TestAlike(t *testing.T) {
	full := kits.Longer()
	versions := []string{"13.0"}
	if full {
		versions = drivertest.Toolkits
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	// TestMain's other word: gnvcc, called nvcc
	if err := os.Symlink(self, filepath.Join(bin, "nvcc")); err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		kit, ok := kits.Find(version)
		if !ok {
			t.Logf("LOUD SKIP: toolkit %s is not installed; install/toolkit %s gets it", version, version)
			continue
		}
		for i, line := range alike {
			t.Run(version+strings.Join(strings.FieldsFunc(line, func(r rune) bool {
				return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
			}), "_"), func(t *testing.T) {
				if i%6 != 0 {
					kits.Long(t, "each sixth line is compared")
				}
				t.Parallel()
				root, err := os.MkdirTemp("", "alike") // a short name: it stands in messages
				if err != nil {
					t.Fatal(err)
				}
				defer os.RemoveAll(root)
				real, p := filepath.Join(kit.Dir, "bin"), &alikePlace{root: root}
				p.want, p.files = p.do(t, line, real, "/nowhere")
				for turn, name := range []string{"first", "second", "third, with recipes,"} {
					// A part of the whole, for time's sake.
					if !full && (turn == 1 && i%4 != 0 || turn == 2 && i%2 != 0) ||
						turn > 0 && i%24 != 0 && !kits.Every() {
						continue
					}
					if !p.turn(t, line, bin+":"+real, name, turn == 2) {
						break
					}
				}
			})
		}
	}
}

// An alikePlace is where one line is compared: a folder, emptied before each run.
type alikePlace struct {
	root  string
	want  outcome
	files map[string]string
}

// turn does a line with gnvcc once and compares. It gives false where a further turn makes no sense.
func (p *alikePlace) turn(t *testing.T, line, path, name string, recipes bool) bool {
	t.Helper()
	store := filepath.Join(p.root, "store")
	if recipes && !decideAll(t, store, "maxnreg=32") {
		return false
	}
	got, files := p.do(t, line, path, store)
	if steady([]byte(p.want.String())) != steady([]byte(got.String())) {
		t.Errorf("%s, the %s time\nnvcc: %s\ngnvcc: %s", line, name, p.want, got)
	}
	for name := range p.files {
		if _, ok := files[name]; !ok {
			t.Errorf("%s: %s is not there", line, name)
		}
	}
	var differing []string
	for name, text := range files {
		if was, ok := p.files[name]; !ok || was != text && !recipes {
			differing = append(differing, name)
		}
	}
	if slices.Sort(differing); len(differing) > 0 {
		t.Errorf("%s, the %s time: not the same, or not there with nvcc: %v", line, name, differing)
	}
	return !t.Failed()
}

// do runs a line in a fresh project. path is where nvcc is found.
func (p *alikePlace) do(t *testing.T, line, path, store string) (outcome, map[string]string) {
	t.Helper()
	dir, tmp := filepath.Join(p.root, "project"), filepath.Join(p.root, "tmp")
	for _, d := range []string{dir, tmp} {
		if err := os.RemoveAll(d); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(d, "out"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) // -lineinfo stores the time of a file
	for name, text := range alikeFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, name), past, past); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(environment.Read().Without("PATH", "TMPDIR", "CUDA_HOME", "CUDA_PATH"),
		"PATH="+path+":/usr/bin:/bin", "TMPDIR="+tmp, "GNVCC_STORE="+store, "GNVCC_STRICT=1",
		"GNVCC_LOG="+store+".log", "HOME="+p.root)
	if !strings.Contains(line, "NVCC_PREPEND_FLAGS") {
		cmd.Env = append(cmd.Env, kits.Short(alikeFiles["k.cu"]))
	}
	o := see(t, cmd, nil)
	files := filesOf(t, dir)
	for name, text := range filesOf(t, tmp) {
		files["tmp"+name] = text
	}
	return o, files
}

// decideAll decides on a recipe for every kernel that was built; false if there is none.
func decideAll(t *testing.T, dir, recipe string) bool {
	t.Helper()
	store, err := cache.Open(dir)
	if err != nil {
		return false
	}
	any := false
	for _, list := range record.Read(store).Assemblies {
		for _, a := range list {
			for _, k := range a.Kernels {
				any = true
				d, err := compile.Assume(context.Background(), store, k.Identity, recipe)
				if err != nil {
					t.Fatal(err)
				}
				if err := store.Spool(cache.Decisions, k.Identity, d); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if any {
		if err := store.PublishSpooled(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	return any
}
