package driver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/recipe"
)

// jobOf makes a job of a CUDA text, with a ptxas that the script stands in front of.
func jobOf(t *testing.T, text, script string) (*bench, *job, []cache.Kernel) {
	t.Helper()
	p := newProject(t, "13.0", map[string]string{"k.cu": text})
	if out, err := run(filepath.Join(p.kit, "bin/nvcc"), "-arch=sm_80", "-ptx", filepath.Join(p.dir, "k.cu"), "-o", filepath.Join(p.dir, "k.ptx")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ptx, err := os.ReadFile(filepath.Join(p.dir, "k.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(p.kit, "bin/ptxas")
	if script != "" {
		tool = program(t, filepath.Join(p.dir, "ptxas"), "#!/bin/sh\n"+script+"\nexec "+tool+" \"$@\"\n")
	}
	call, err := toolcmd.ReadPtxas([]string{"-arch=sm_80", "-m64", toolcmd.PlaceIn, "-o", toolcmd.PlaceOut})
	if err != nil {
		t.Fatal(err)
	}
	j, err := newJob(p.store, call, tool, ptx)
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := j.identities()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{store: p.store, log: logger(), folder: t.TempDir(), start: startPlain}
	return b, j, kernels
}

const three = "__global__ void a(float *p, int n) {" + wide + "}\n__global__ void b(float *p, int n) {" + wide + "}\n__global__ void c(float *p, int n) {" + wide + "}\n"

// standardOf reads the kernels back from nvcc's own compile.
func standardOf(t *testing.T, b *bench, j *job, kernels []cache.Kernel) []cache.Kernel {
	t.Helper()
	out := filepath.Join(b.folder, "standard.cubin")
	in := filepath.Join(b.folder, "standard.ptx")
	if err := os.WriteFile(in, j.ptx, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := run(append([]string{j.tool}, j.call.With(in, out)...)...); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	std, _, err := readBack(kernels, content)
	if err != nil {
		t.Fatal(err)
	}
	return std
}

// TestCulprit has ptxas refuse one of three recipes: the other two stay.
func TestCulprit(t *testing.T) {
	b, j, kernels := jobOf(t, three, `for f; do case "$f" in *in.ptx) grep -q 'maxnreg 41' "$f" && { echo 'ptxas fatal : no 41' >&2; exit 255; }; esac; done`)
	std := standardOf(t, b, j, kernels)
	recipes := map[string]recipe.Recipe{"_Z1aPfi": mustParse(t, "maxnreg=40"), "_Z1bPfi": mustParse(t, "maxnreg=41"), "_Z1cPfi": mustParse(t, "maxnreg=48")}
	out, err := b.build(context.Background(), j, nil, recipes, std)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.refused) != 1 || !strings.Contains(out.refused["_Z1bPfi"].Error(), "no 41") {
		t.Errorf("refused: %v", out.refused)
	}
	for _, k := range out.kernels {
		switch want := recipes[k.Name].String(); k.Name {
		case "_Z1bPfi":
			if k.Recipe != "" || !strings.HasPrefix(k.Reason, want+": ") || k.Registers != std[1].Registers {
				t.Errorf("%+v", k)
			}
		default:
			if k.Recipe != want || k.Reason != "" || fmt.Sprintf("maxnreg=%d", k.Registers) != want {
				t.Errorf("%+v", k)
			}
		}
	}
	// All are refused: no content, and no error.
	out, err = b.build(context.Background(), j, nil, map[string]recipe.Recipe{"_Z1bPfi": mustParse(t, "maxnreg=41")}, std)
	if err != nil || out.content != nil || len(out.refused) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestCheck has results that must not be taken, by telling the bench that nvcc's own were others.
func TestCheck(t *testing.T) {
	b, j, kernels := jobOf(t, three, "")
	std := standardOf(t, b, j, kernels)
	build := func(change func(k []cache.Kernel), text string) (*built, error) {
		was := append([]cache.Kernel(nil), std...)
		change(was)
		return b.build(context.Background(), j, nil, map[string]recipe.Recipe{"_Z1aPfi": mustParse(t, text)}, was)
	}
	if out, err := build(func([]cache.Kernel) {}, "maxnreg=64"); err != nil || len(out.refused) != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	// With 64 registers a block of 1024 still fits, with more it doesn't.
	out, err := build(func(k []cache.Kernel) { k[0].Registers = 32 }, "maxnreg=80")
	if err != nil || out.content != nil || !strings.Contains(out.refused["_Z1aPfi"].Error(), "could not be launched") {
		t.Errorf("fewer threads: %+v, %v", out, err)
	}
	out, err = build(func(k []cache.Kernel) { k[0].Shared = -4 }, "maxnreg=64")
	if err != nil || out.content != nil || !strings.Contains(out.refused["_Z1aPfi"].Error(), "shared memory") {
		t.Errorf("more shared memory: %+v, %v", out, err)
	}
	if out, err = build(func(k []cache.Kernel) { k[1].Registers++ }, "maxnreg=64"); err == nil || !strings.Contains(err.Error(), "_Z1bPfi, which was to stay as it is") {
		t.Errorf("another kernel changed: %+v, %v", out, err)
	}
	// Flags are for the whole file.
	if out, err = build(func([]cache.Kernel) {}, "ptxas=-O1"); err != nil || out.content != nil || len(out.refused) != 1 {
		t.Errorf("a flag that one of three kernels wants: %+v, %v", out, err)
	}
}

// TestFileName: kernels of templates have names that no file can have.
func TestFileName(t *testing.T) {
	long := strings.Repeat("N7cutlass", 400)
	a, b := fileName("_Z1"+long+".ptx"), fileName("_Z2"+long+".ptx")
	if len(a) > maxFileName || !strings.HasPrefix(a, "_Z1N7cutlass") || filepath.Ext(a) != ".ptx" || a == b {
		t.Errorf("%s, %s", a, b)
	}
	if a, b := fileName(long+"1.ptx"), fileName(long+"2.ptx"); a == b {
		t.Errorf("%s for two names", a)
	}
	for name, want := range map[string]string{"_Z1kv.ii": "_Z1kv.ii", "../../x": "x", "x." + strings.Repeat("y", 251): "x." + strings.Repeat("y", 251)} {
		if got := fileName(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
	t.Setenv(varKeep, t.TempDir())
	keep("group", "_Z1"+long+".ptx", []byte("x"))
	if _, err := os.Stat(filepath.Join(os.Getenv(varKeep), "group", a)); err != nil {
		t.Error(err)
	}
}
