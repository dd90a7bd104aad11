// bench/apps without a GPU: its scripts and Makefiles, the suite, and a made-up application in the
// place of NPB-GPU, from its clone to its own figures.

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// script runs a script of bench/apps.
func script(t *testing.T, env []string, argv ...string) string {
	t.Helper()
	cmd := exec.Command("sh", argv...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// application makes a copy of bench/apps, and a clone of a made-up NPB-GPU, whose sources it takes.
// It prints who compiled it.
func application(t *testing.T, dir string) (apps, clone, sources string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git: bench/apps/slim.sh takes sources out of clones")
	}
	apps = filepath.Join(dir, "apps")
	if err := os.CopyFS(apps, os.DirFS("../apps")); err != nil {
		t.Fatal(err)
	}
	clone = filepath.Join(dir, "clones", "NPB-GPU")
	write(t, filepath.Join(clone, "CUDA/Makefile"), `cg: cg.cu
	mkdir -p bin
	sed "s|@|$(NVCC)|" cg.cu >by.cu
	$(NVCC) -arch=sm_90 $(COMPUTE_CAPABILITY) -o bin/cg.$(CLASS) by.cu
`)
	write(t, filepath.Join(clone, "CUDA/cg.cu"), `if [ "$FAST" ]; then speed=30 each=50000; else speed=20 each=100000; fi
[ "$GNVCC_CLOCK" ] && echo "$$,0,\"k\",8,1,1,128,1,1,0,40,10,$((10*each)),$each,$each" >> "$GNVCC_CLOCK"
echo " Compiled by @ for $CUDA_VISIBLE_DEVICES"
echo " Mop/s total     =     $speed.5"
echo " Verification    =     SUCCESSFUL"
`)
	write(t, filepath.Join(clone, "papers/large.pdf"), "not taken")
	script(t, nil, "-c", "cd "+clone+` && git init -q && git add -A && git -c user.name=x -c user.email=x commit -qm x`)
	sources = filepath.Join(dir, "sources")
	said := script(t, nil, filepath.Join(apps, "slim.sh"), filepath.Join(dir, "clones"), sources)
	if !strings.Contains(said, "no repository of UoB-HPC/miniBUDE") {
		t.Errorf("slim.sh: %s", said)
	}
	return apps, clone, sources
}

func TestApplications(t *testing.T) {
	dir, args := fake(t)

	apps, clone, sources := application(t, dir)
	commit, err := os.ReadFile(filepath.Join(sources, "NPB-GPU/COMMIT"))
	if err != nil || len(commit) != 41 {
		t.Error(err, string(commit))
	}
	if _, err := os.Stat(filepath.Join(sources, "NPB-GPU/papers")); err == nil {
		t.Error("slim.sh takes all of a repository")
	}
	if left := script(t, nil, "-c", "cd "+clone+" && git status --porcelain"); left != "" {
		t.Errorf("the clone has changed: %s", left)
	}

	// a toolkit without cuRAND, and a Python package with it
	for _, name := range []string{"toolkit/include/cuda.h", "toolkit/lib64/libcudart.so.13",
		"toolkit/lib64/stubs/libcuda.so", "site/nvidia/cu13/include/curand.h",
		"site/nvidia/cu13/include/cuda.h", "site/nvidia/cu13/lib/libcurand.so.10"} {
		write(t, filepath.Join(dir, name), name)
	}
	links := filepath.Join(dir, "links")
	script(t, nil, filepath.Join(apps, "libraries.sh"), filepath.Join(dir, "toolkit"), links,
		filepath.Join(dir, "site"))
	for name, want := range map[string]string{"include/cuda.h": "toolkit/include/cuda.h",
		"include/curand.h":  "site/nvidia/cu13/include/curand.h",
		"lib/libcurand.so":  "site/nvidia/cu13/lib/libcurand.so.10",
		"lib/libcudart.so":  "toolkit/lib64/libcudart.so.13",
		"lib/libcuda.so":    "toolkit/lib64/stubs/libcuda.so",
		"lib/libcuda.so.1":  "",
		"lib/libcurand.so.": ""} {
		if text, _ := os.ReadFile(filepath.Join(links, name)); string(text) != want {
			t.Errorf("%s: %q, want %q", name, text, want)
		}
	}

	args = append(args[:len(args)-1], "-folder", "%", "-figures", "figures", "-compiler", "NVCC",
		"-programs", filepath.Join(apps, "order.txt"), "-skip",
		"miniBUDE,npb-mg,madgraph,npb-sp,AutoDock,npb-bt,npb-ft,GPUMD,ggml,CloverLeaf,CloverLeaf-small,chamfer3D,pointnet2",
		"-set", "APPLICATIONS="+sources, "-set", "LINKS="+links, "-set", "CUDA="+filepath.Join(dir, "toolkit"), apps)
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	results, err := readResults(filepath.Join(dir, "results.jsonl"))
	if err != nil || len(results) != 2 {
		t.Fatal(err, results)
	}
	for _, r := range results {
		switch r.Program {
		case "npb-cg":
			want := []Figure{{"speed", "Mop/s", true, []float64{20.5, 20.5}, []float64{30.5, 30.5}}}
			if !reflect.DeepEqual(r.Figures, want) || math.Abs(r.Ratio()-2) > 0.05 || r.Stdout != "same" {
				t.Errorf("%+v", r)
			}
		case "npb-lu": // its sources' Makefile has no such program
			if !strings.Contains(r.Failed, "build with nvcc") {
				t.Errorf("%+v", r)
			}
		}
	}
}

// TestMeasure: all of them on all GPUs by one command, and without one what can be built.
func TestMeasure(t *testing.T) {
	dir, args := fake(t)
	apps, _, sources := application(t, dir)
	write(t, filepath.Join(dir, "toolkit/include/cuda.h"), "")
	nvcc, bin := filepath.Join(dir, "toolkit/bin/nvcc"), filepath.Join(dir, "bin")
	script(t, nil, "-c", "mkdir -p "+filepath.Dir(nvcc)+" && cp "+filepath.Join(dir, "nvcc")+" "+nvcc)
	write(t, filepath.Join(bin, "nvidia-smi"), "#!/bin/sh\nprintf '0\\n1\\n'\n")
	suite := filepath.Join(dir, "suite")
	if out, err := exec.Command("go", "build", "-o", suite+".built", ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// a clock that needs no CUPTI, as fake has it
	write(t, suite, "#!/bin/sh\nexec "+suite+`.built -clock `+args[slices.Index(args, "-clock")+1]+` "$@"`+"\n")
	env := []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "NVCC=" + nvcc, "SUITE=" + suite,
		"GNVCC=" + filepath.Join(dir, "gnvcc"), "SOURCES=" + sources, "COMMIT=abc", "BUDGET=300"}
	measure, out := filepath.Join(apps, "measure.sh"), filepath.Join(dir, "out")

	said := script(t, env, measure, "-n", out, "npb-cg")
	if said != "npb-cg: built by nvcc and by gnvcc\n" {
		t.Error(said)
	}
	cmd := exec.Command("sh", measure, "-n", out, "npb-cg", "npb-mg")
	cmd.Env = append(os.Environ(), env...)
	if text, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(text), "npb-mg was not built by") {
		t.Errorf("%v: %s", err, text)
	}

	said = script(t, env, measure, out, "npb-cg", "npb-lu")
	results, err := readResults(filepath.Join(out, "apps.jsonl"))
	if err != nil || len(results) != 2 || !strings.Contains(said, "1 applications: geometric mean 1.488") {
		t.Fatalf("%v: %+v\n%s", err, results, said)
	}
	for gpu := range 2 {
		for n := range 2 {
			if _, err := os.Stat(filepath.Join(out, fmt.Sprintf("work/logs/suite.%d.%d", gpu, n))); err != nil {
				t.Error(err)
			}
		}
	}
	if r := results[slices.IndexFunc(results, func(r Result) bool { return r.Failed == "" })]; r.Stdout != "same" ||
		len(r.Figures[0].After) != 3 {
		t.Errorf("%+v", r)
	}
}

// What the applications print, and what is read off it.
func TestApplicationsFigures(t *testing.T) {
	for app, c := range map[string]struct{ printed, broken, want string }{
		"npb-mg": {" Time in seconds =      0.16\n Mop/s total     =   956000.12\n Mop/s/thread =  1\n" +
			" Verification    =               SUCCESSFUL\n",
			"SUCCESSFUL/UNSUCCESSFUL", "speed 956000.12 Mop/s more\n"},
		"miniBUDE": {" - outcome:    { valid: true, max_diff_%: 0.002 }\n   gflop/s:             12345.6\n" +
			"   gfinst/s:            2.5\n", "true/false", "speed 12345.6 GFLOP/s more\n"},
		"madgraph": {"NumMatrixElems(notAbnormal) = 2097152\n" +
			"EvtsPerSec[MatrixElems] (3) = ( 4.4e+07  )  sec^-1\n" +
			"EvtsPerSec[MECalcOnly] (3a) = ( 4.586862e+07                 )  sec^-1\n",
			"2097152/2097151", "speed 4.586862e+07 events/s more\n"},
		"AutoDock": {"\nDocking time 1.234567s\n\nJob #1 took 1.5 sec\nAll jobs ran without errors.\n",
			"without/with", "docking 1.234567 s less\n"},
		"GPUMD": {"Speed of this run = 1.25e+08 atom*step/second.\nFinished running GPUMD.\n",
			"Finished/Aborted", "speed 1.25e+08 atom-steps/s more\n"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("../apps")); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, app, "out.txt")
		make := func() (string, error) {
			text, err := exec.Command("make", "-s", "-C", filepath.Dir(out), "--no-print-directory",
				"figures").Output()
			return string(text), err
		}
		write(t, out, c.printed)
		if got, err := make(); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", app, got, err, c.want)
		}
		good, bad, _ := strings.Cut(c.broken, "/")
		write(t, out, strings.ReplaceAll(c.printed, good, bad))
		if got, err := make(); err == nil {
			t.Errorf("%s: a failed check goes unseen: %q", app, got)
		}
	}
}
