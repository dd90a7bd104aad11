package driver

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"gnvcc/cache"
)

// Command lines with nvcc and with gnvcc, one after the other in the same folder: the same exit code, the same messages, the
// same files with the same content.

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

func TestAlike(t *testing.T) {
	kit := toolkit(t, "13.0")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "nvcc")); err != nil { // TestMain's other word: gnvcc, called nvcc
		t.Fatal(err)
	}
	for i, line := range alike {
		t.Run(strings.Join(strings.FieldsFunc(line, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') }), "_"), func(t *testing.T) {
			if testing.Short() && i%4 != 0 {
				t.Skip("short")
			}
			t.Parallel()
			root, err := os.MkdirTemp("", "alike") // a short name: it stands in messages
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(root) })
			do := func(path string, store string) (outcome, map[string]string) {
				dir, tmp := filepath.Join(root, "project"), filepath.Join(root, "tmp")
				for _, d := range []string{dir, tmp} {
					if err := os.RemoveAll(d); err != nil {
						t.Fatal(err)
					}
					os.MkdirAll(filepath.Join(d, "out"), 0o755)
				}
				for name, text := range alikeFiles {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
					past := mustTime(t)
					os.Chtimes(filepath.Join(dir, name), past, past) // -lineinfo stores it
				}
				cmd := exec.Command("/bin/sh", "-c", line)
				cmd.Dir = dir
				cmd.Env = append(without(os.Environ(), "PATH", "TMPDIR"), "PATH="+path+":/usr/bin:/bin", "TMPDIR="+tmp, "GNVCC_STORE="+store, "GNVCC_STRICT=1", "GNVCC_LOG="+store+".log", "HOME="+root)
				o := see(t, cmd, nil)
				files := filesOf(t, dir)
				for name, text := range filesOf(t, tmp) {
					files["tmp"+name] = text
				}
				return o, files
			}
			real := filepath.Join(kit, "bin")
			want, wantFiles := do(real, "/nowhere")
			for _, turn := range []string{"first", "second", "third"} {
				recipes := turn == "third" // messages and names stay nvcc's with recipes, too
				if os.Getenv("GNVCC_TEST_FULL") == "" && (turn == "second" && i%4 != 0 || recipes && i%2 != 0) {
					continue // a part of the whole, for time's sake; GNVCC_TEST_FULL=1 does all
				}
				if recipes && !decideAll(t, filepath.Join(root, "store"), "maxnreg=32") {
					continue
				}
				got, files := do(bin+":"+real, filepath.Join(root, "store"))
				if steady([]byte(want.String())) != steady([]byte(got.String())) {
					t.Errorf("%s, the %s time\nnvcc: %s\ngnvcc: %s", line, turn, want, got)
				}
				for name := range wantFiles {
					if _, ok := files[name]; !ok {
						t.Errorf("%s: %s is not there", line, name)
					}
				}
				var differing []string
				for name, text := range files {
					if was, ok := wantFiles[name]; !ok || was != text && !recipes {
						differing = append(differing, name)
					}
				}
				if sort.Strings(differing); len(differing) > 0 {
					t.Errorf("%s: not the same, or not there with nvcc: %v", line, differing)
				}
			}
		})
	}
}

// decideAll decides on a recipe for every kernel that was built; false if there is none.
func decideAll(t *testing.T, dir, recipe string) bool {
	t.Helper()
	store, err := cache.Open(dir)
	if err != nil {
		return false
	}
	any := false
	for _, list := range readIndex(store).assemblies {
		for _, a := range list {
			for _, k := range a.Kernels {
				any = true
				if err := store.Spool(cache.Decisions, k.Identity, cache.Decision{Identity: k.Identity, Kernel: k.Name, Recipe: recipe}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if any {
		if err := publish(context.Background(), store); err != nil {
			t.Fatal(err)
		}
	}
	return any
}
