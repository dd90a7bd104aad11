// Real compiles, read here and by NVIDIA's own cuobjdump and ptxas -v, must say the same.

package cubin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// toolkit returns the folder of an installed toolkit, or skips.
func toolkit(t *testing.T, version string) string {
	t.Helper()
	return kits.Need(t, version).Dir
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func read(t *testing.T, path string) *File {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(b)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return f
}

var resource = regexp.MustCompile(`(?m)^ Function (.*):\n  REG:(\d+) STACK:(\d+) SHARED:(\d+) `)

func TestAgainstTools(t *testing.T) {
	for _, version := range []string{"13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			kit, dir := toolkit(t, version), t.TempDir()
			ptx := filepath.Join(dir, "k.ptx")
			command(t, kit+"/bin/nvcc", "-arch=compute_75", "-ptx", "testdata/kernels.cu", "-o", ptx)
			for _, target := range []int{75, 80, 86, 90, 100, 120} {
				for _, mode := range []string{"", "-c", "--maxrregcount=24"} {
					out := filepath.Join(dir, fmt.Sprintf("k%d%s.cubin", target, mode))
					args := []string{"-v", "-arch", fmt.Sprintf("sm_%d", target), ptx, "-o", out}
					if mode != "" {
						args = append(args, mode)
					}
					messages := command(t, kit+"/bin/ptxas", args...)
					f := read(t, out)
					if f.Target != target || f.Relocatable != (mode == "-c") {
						t.Errorf("%s: target %d, relocatable %v", out, f.Target, f.Relocatable)
					}
					if len(f.Kernels) != 5 {
						t.Errorf("%s: %d kernels, want 5: %+v", out, len(f.Kernels), f.Kernels)
					}
					for _, k := range f.Kernels {
						frame := fmt.Sprintf("Function properties for %s\n    %d bytes stack frame", k.Name, k.Stack)
						if !strings.Contains(messages, frame) {
							t.Errorf("%s %s: %+v, ptxas -v: %s", out, k.Name, k, messages)
						}
					}
					if target == 75 && mode == "--maxrregcount=24" && Spills(messages)["_Z5stackPfi"] == 0 {
						t.Error("the capped kernel shows no spills: is the parser blind?")
					}
					seen := map[string]bool{}
					for _, m := range resource.FindAllStringSubmatch(command(t, kit+"/bin/cuobjdump", "-res-usage",
						out), -1) {
						k, ok := f.Kernel(m[1])
						if !ok {
							continue // a function that is no entry
						}
						seen[m[1]] = true
						want := fmt.Sprintf("REG:%s SHARED:%s", m[2], m[4])
						if got := fmt.Sprintf("REG:%d SHARED:%d", k.Registers, k.Shared+k.Reserved); got != want {
							t.Errorf("%s %s: %s, cuobjdump: %s", out, k.Name, got, want)
						}
						// cuobjdump gives the stack with callees for linked files.
						if stack, _ := strconv.Atoi(m[3]); mode != "-c" && stack != k.StackAll {
							t.Errorf("%s %s: stack %d, cuobjdump: %d", out, k.Name, k.StackAll, stack)
						}
					}
					if len(seen) != len(f.Kernels) {
						t.Errorf("%s: cuobjdump knows %d of our %d kernels", out, len(seen), len(f.Kernels))
					}
					facts(t, out, f)
				}
			}
		})
	}
}

// facts checks what testdata/kernels.cu says in so many words.
func facts(t *testing.T, name string, f *File) {
	t.Helper()
	want := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %s: %v, want %v", name, what, got, want)
		}
	}
	k, _ := f.Kernel("_Z5plainiPf6Recordc")
	want("plain's parameters", k.Params, "[{0 0 4} {1 8 8} {2 16 24} {3 40 1}]")
	want("plain's parameter bytes", k.ParamBytes, 41)
	want("plain's bounds and calls", fmt.Sprint(k.MaxThreads, k.MaxBlock, k.Required, k.Calls,
		k.Barriers), "0 [0 0 0] [0 0 0] false 0")
	k, _ = f.Kernel("_Z7boundedPf")
	want("bounded's bounds", fmt.Sprint(k.MaxThreads, k.MaxBlock), "256 [256 1 1]")
	want("bounded's barriers and shared memory", fmt.Sprint(k.Barriers, k.Shared), "1 2048")
	k, _ = f.Kernel("_Z7dynamicPf")
	want("dynamic's calls", k.Calls, true)
	k, _ = f.Kernel("_Z5stackPfi")
	want("stack's calls", k.Calls, false)
	k, _ = f.Kernel("_Z5emptyv")
	want("empty's parameters", k.Params, "[]")
	sizes := map[string]Global{}
	for _, g := range f.Globals {
		sizes[g.Name] = g
	}
	for name, size := range map[string]int{"table": 400, "start": 4, "weights": 64, "managed": 4} {
		want(name+"'s size", sizes[name].Size, size)
	}
	want("weights' section", sizes["weights"].Section, ".nv.constant3")
	want("table's section", sizes["table"].Section, ".nv.global")
}

// Clusters and large parameters need sm_90.
func TestLargeParametersAndClusters(t *testing.T) {
	kit, out := toolkit(t, "13.0"), filepath.Join(t.TempDir(), "k.cubin")
	command(t, kit+"/bin/nvcc", "-arch=sm_90", "-cubin", "testdata/hopper.cu", "-o", out)
	f := read(t, out)
	k, _ := f.Kernel("_Z5large3BigPi5Small")
	if got := fmt.Sprint(k.Params,
		k.ParamBytes); got != "[{0 0 20004} {1 20008 8} {2 20016 4001}] 24017" {
		t.Errorf("large: %s", got)
	}
	k, _ = f.Kernel("_Z7clusterPi")
	if k.Cluster != [3]int{2, 1, 1} || !k.ClusterLaunch {
		t.Errorf("cluster: %+v", k)
	}
	if k, _ = f.Kernel("_Z5fixedPi"); k.Required != [3]int{64, 2, 1} || k.MaxThreads != 128 {
		t.Errorf("fixed: %+v", k)
	}
	k, _ = f.Kernel("_Z6cappedPi")
	if k.ClusterLaunch {
		t.Errorf("capped: %+v", k)
	}
}

// A device link's result, with a function called across files.
func TestLinked(t *testing.T) {
	kit, dir := toolkit(t, "13.0"), t.TempDir()
	for _, name := range []string{"a", "b"} {
		command(t, kit+"/bin/nvcc", "-arch=sm_90", "-rdc=true", "-cubin", "-DFILE_"+name,
			"testdata/linked.cu", "-o", filepath.Join(dir, name+".cubin"))
	}
	out := filepath.Join(dir, "linked.cubin")
	command(t, kit+"/bin/nvlink", "-arch=sm_90", filepath.Join(dir, "a.cubin"),
		filepath.Join(dir, "b.cubin"), "-o", out)
	f := read(t, out)
	k, ok := f.Kernel("_Z6callerPf")
	if !ok || f.Relocatable || !k.Calls || k.Registers == 0 || k.Shared != 512 || k.Reserved != 1024 {
		t.Errorf("linked: %+v %+v", f, k)
	}
	usage := resource.FindStringSubmatch(command(t, kit+"/bin/cuobjdump", "-res-usage", "-fun",
		"_Z6callerPf", out))
	if usage == nil || usage[2] != fmt.Sprint(k.Registers) ||
		usage[4] != fmt.Sprint(k.Shared+k.Reserved) {
		t.Errorf("linked: %+v, cuobjdump: %q", k, usage)
	}
	// The linker adds what the callee needs; the caller's own file knew less.
	before, _ := read(t, filepath.Join(dir, "a.cubin")).Kernel("_Z6callerPf")
	if before.Registers >= k.Registers {
		t.Errorf("registers %d before the link, %d after: the callee needs many", before.Registers,
			k.Registers)
	}
}

// Files of older ptxas, made from testdata/small.ptx (`ptxas -arch sm_75 small.ptx`, with -c for
// .rel): ABI 7 and the first of ABI 8.
func TestOldFiles(t *testing.T) {
	for name, registers := range map[string]int{
		"ptxas-11.8.sm_52": 8, "ptxas-11.8.sm_90": 14, "ptxas-12.0.sm_90": 14,
		"ptxas-12.9.sm_75": 6, "ptxas-12.9.sm_90": 14, "ptxas-12.9.sm_100": 14,
	} {
		for _, suffix := range []string{".bin", ".rel.bin"} {
			f := read(t, "testdata/old/"+name+suffix)
			if !strings.HasSuffix(name, ".sm_"+strconv.Itoa(f.Target)) ||
				f.Relocatable != (suffix == ".rel.bin") {
				t.Errorf("%s%s: target %d, relocatable %v", name, suffix, f.Target, f.Relocatable)
			}
			k, ok := f.Kernel("small")
			if !ok || k.Registers != registers || k.Shared != 512 || k.Barriers != 1 ||
				k.MaxThreads != 128 || len(k.Params) != 2 {
				t.Errorf("%s%s: %+v", name, suffix, k)
			}
			if len(f.Globals) != 2 || f.Globals[0].Name != "table" || f.Globals[0].Size != 40 {
				t.Errorf("%s%s: globals %+v", name, suffix, f.Globals)
			}
		}
	}
}

func TestSpills(t *testing.T) {
	got := Spills(`nvcc warning : something else
ptxas info    : 440 bytes gmem, 64 bytes cmem[3]
ptxas info    : Compiling entry function '_Z1aPf' for 'sm_90'
ptxas info    : Function properties for _Z1aPf
    400 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 39 registers, used 1 barriers, 400 bytes cumulative stack size, 2048 bytes smem, 372 bytes cmem[0]
ptxas info    : Function properties for _Z6helperi
    0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 99 registers
ptxas info    : Compiling entry function '_Z1bPf' for 'sm_90'
ptxas info    : Function properties for _Z1bPf
    0 bytes stack frame, -8 bytes spill stores, -8 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers, 17408 bytes smem
`)
	want := map[string]int{"_Z1aPf": 8, "_Z6helperi": 4, "_Z1bPf": 0}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}
