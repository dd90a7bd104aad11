package compile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"gnvcc/cache"
	"gnvcc/driver/child"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
	"gnvcc/driver/job"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/recipe"
)

// jobOf makes a job of a CUDA text, with a ptxas that the script stands in front of.
func jobOf(t *testing.T, text, script string) (*Workbench, *job.Job, []cache.Kernel) {
	t.Helper()
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": text})
	if out, err := drivertest.Run(filepath.Join(p.Kit, "bin/nvcc"), "-arch=sm_80", "-ptx",
		filepath.Join(p.Dir, "k.cu"), "-o", filepath.Join(p.Dir, "k.ptx")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ptx, err := os.ReadFile(filepath.Join(p.Dir, "k.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(p.Kit, "bin/ptxas")
	if script != "" {
		tool = drivertest.Program(t, filepath.Join(p.Dir, "ptxas"), "#!/bin/sh\n"+script+"\nexec "+tool+
			" \"$@\"\n")
	}
	call, err := toolcmd.ReadPtxas([]string{"-arch=sm_80", "-m64", toolcmd.PlaceIn, "-o",
		toolcmd.PlaceOut})
	if err != nil {
		t.Fatal(err)
	}
	j, err := job.New(p.Store, call, tool, ptx)
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := j.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	b := &Workbench{Store: p.Store, Env: environment.Read(), Log: zerolog.Nop(), Folder: t.TempDir(),
		Start: child.Run}
	return b, j, kernels
}

const three = "__global__ void a(float *p, int n) {" + drivertest.Wide +
	"}\n__global__ void b(float *p, int n) {" + drivertest.Wide +
	"}\n__global__ void c(float *p, int n) {" + drivertest.Wide + "}\n"

// defaultOf reads the kernels back from nvcc's own compile.
func defaultOf(t *testing.T, b *Workbench, j *job.Job, kernels []cache.Kernel) []cache.Kernel {
	t.Helper()
	out := filepath.Join(b.Folder, "default.cubin")
	in := filepath.Join(b.Folder, "default.ptx")
	if err := os.WriteFile(in, j.PTX, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := drivertest.Run(append([]string{j.Tool}, j.Call.With(in, out)...)...); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	std, _, err := job.ReadBack(kernels, content)
	if err != nil {
		t.Fatal(err)
	}
	return std
}

// TestCulprit has ptxas refuse one of three recipes: the other two stay.
func TestCulprit(t *testing.T) {
	b, j, kernels := jobOf(t, three,
		`for f; do case "$f" in *in.ptx) grep -q 'maxnreg 41' "$f" && { echo 'ptxas fatal : no 41' >&2; exit 255; }; esac; done`)
	std := defaultOf(t, b, j, kernels)
	recipes := map[string]recipe.Recipe{"_Z1aPfi": drivertest.MustParse(t, "maxnreg=40"),
		"_Z1bPfi": drivertest.MustParse(t, "maxnreg=41"), "_Z1cPfi": drivertest.MustParse(t,
			"maxnreg=48")}
	out, err := b.Build(context.Background(), j, nil, recipes, std)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Refused) != 1 || !strings.Contains(out.Refused["_Z1bPfi"].Error(), "no 41") {
		t.Errorf("refused: %v", out.Refused)
	}
	for _, k := range out.Kernels {
		switch want := recipes[k.Name].String(); k.Name {
		case "_Z1bPfi":
			if k.Recipe != "" || k.Unapplied == nil || k.Unapplied.Recipe != want || !k.Unapplied.Lasting ||
				k.Registers != std[1].Registers {
				t.Errorf("%+v", k)
			}
		default:
			if k.Recipe != want || k.Unapplied != nil || fmt.Sprintf("maxnreg=%d", k.Registers) != want {
				t.Errorf("%+v", k)
			}
		}
	}
	// All are refused: no content, and no error.
	out, err = b.Build(context.Background(), j, nil,
		map[string]recipe.Recipe{"_Z1bPfi": drivertest.MustParse(t, "maxnreg=41")}, std)
	if err != nil || out.Content != nil || len(out.Refused) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestCheck has results that must not be taken, by telling the workbench that nvcc's own were
// others.
func TestCheck(t *testing.T) {
	b, j, kernels := jobOf(t, three, "")
	std := defaultOf(t, b, j, kernels)
	build := func(change func(k []cache.Kernel), text string) (*Result, error) {
		was := append([]cache.Kernel(nil), std...)
		change(was)
		return b.Build(context.Background(), j, nil,
			map[string]recipe.Recipe{"_Z1aPfi": drivertest.MustParse(t, text)}, was)
	}
	if out, err := build(func([]cache.Kernel) {}, "maxnreg=64"); err != nil || len(out.Refused) != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	// With 64 registers a block of 1024 still fits, with more it doesn't.
	out, err := build(func(k []cache.Kernel) { k[0].Registers = 32 }, "maxnreg=80")
	if err != nil || out.Content != nil || !strings.Contains(out.Refused["_Z1aPfi"].Error(),
		"could not be launched") {
		t.Errorf("fewer threads: %+v, %v", out, err)
	}
	out, err = build(func(k []cache.Kernel) { k[0].Shared = -4 }, "maxnreg=64")
	if err != nil || out.Content != nil || !strings.Contains(out.Refused["_Z1aPfi"].Error(),
		"shared memory") {
		t.Errorf("more shared memory: %+v, %v", out, err)
	}
	if out, err = build(func(k []cache.Kernel) {
		k[1].Registers++
	}, "maxnreg=64"); err == nil || !strings.Contains(err.Error(), "_Z1bPfi should be unchanged") {
		t.Errorf("another kernel changed: %+v, %v", out, err)
	}
}

// TestToolsTemporaryFiles: what a tool that was killed leaves behind lies in the scratch folder,
// and not among the user's temporary files.
func TestToolsTemporaryFiles(t *testing.T) {
	theirs := t.TempDir()
	b := &Workbench{Folder: t.TempDir(), Start: child.Run}
	env := []string{"TMPDIR=" + theirs, "PATH=" + os.Getenv("PATH")}
	if _, err := b.tool(context.Background(), "", env,
		"/bin/sh", "-c", `echo left >"$TMPDIR/in.bc"; kill -9 $$`); err == nil {
		t.Fatal("a tool that was killed has done its work")
	}
	if left, _ := os.ReadDir(theirs); len(left) > 0 {
		t.Errorf("%s is left among the user's temporary files", left[0].Name())
	}
	if _, err := os.Stat(filepath.Join(b.Folder, "in.bc")); err != nil {
		t.Error(err)
	}
}

// TestAsChecked: a build takes a recipe with a checked pass only where the pass gives the code that
// a candidate had, also for an entry that is launched otherwise and so has another name there.
func TestAsChecked(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": `
__global__ void k(float *o, const float *x, int n) {
  for (int i = threadIdx.x; i < n; i += 32) { o[2 * i] = x[i] * 2; o[2 * i + 1] = x[i + n] + 1; }
}
int main() { k<<<1, 32>>>(0, 0, 0); }
`})
	p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
	c, ctx := New(p.Store, t.TempDir()), context.Background()
	for text, what := range map[string]string{"early=on": "ptx early=on",
		"early=on spec{host(block)=32x1x1,host(dynamic)=0} throttle=2": "ptx spec{host(block)=32x1x1,host(dynamic)=0} early=on",
		"maxnreg=32": ""} {
		s, err := c.Kernel(p.Cubin("app", "sm_80"), "_Z1kPfPKfi")
		if err != nil {
			t.Fatal(err)
		}
		r := drivertest.MustParse(t, text)
		cand, err := c.Compile(ctx, s, r)
		if err != nil {
			t.Fatal(text, err)
		}
		if len(cand.Normals) != min(1, len(what)) || (what != "") != (cand.Normals[what] != "") {
			t.Fatalf("%s: normal forms %v", text, cand.Normals)
		}
		for _, other := range []string{"", strings.Repeat("0", 32)} {
			_, b, done, err := c.workbench(ctx, Limit, forPin)
			if err != nil {
				t.Fatal(err)
			}
			of := map[string]string{}
			for what, normal := range cand.Normals {
				if of[what] = normal; other != "" {
					of[what] = other
				}
			}
			b.Normals = map[string]map[string]string{s.Kernel: of}
			out, err := b.Build(ctx, s.job, s.translation, map[string]recipe.Recipe{s.Kernel: r}, s.std)
			if done(); err != nil {
				t.Fatal(err)
			}
			if refused := out.Refused[s.Kernel]; (refused != nil) != (other != "" && what != "") {
				t.Errorf("%s, other code %q: %v", text, other, refused)
			}
		}
	}
}
