package driver

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/driver/apply"
	"gnvcc/driver/drivertest"
	"gnvcc/install/kits"
)

// TestFolder: apply writes the outputs of the commands that it runs again, and no other file,
// whatever their options have the host tools write; what it doesn't know it leaves alone, and says
// so before it runs anything.
func TestFolder(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": "__global__ void k(float *p, int n) {" +
		drivertest.Wide + "}\nint main() { k<<<1, 1>>>(0, 0); }\n"})
	p.Setenv()
	apart := []string{ // options of a command that is left alone
		`-Xcompiler -Wa\,-ahl=list.txt`, `-Xcompiler -fopt-info-vec-all=opt.txt`,
		`-Xcompiler --coverage`, `-forward-unknown-opts -fstack-usage`,
	}
	again := []string{ // of one that is run again
		`-O2 -Xcompiler -Wall,-fPIC,-g -MD`,
		`-Xcompiler -Wa\,--noexecstack -Xptxas -v -forward-unknown-opts -fno-builtin -time times.csv`,
	}
	if kits.Every() {
		apart = append(apart, `-Xcompiler -fdump-tree-optimized`, `-Xcompiler -aux-info,aux.txt`,
			`-Xcompiler -Wp\,-MD\,deps.txt`, `-Xcompiler -fcallgraph-info`, `-Xcompiler -g,-gsplit-dwarf`,
			`-Xcompiler -g,-gz`, `-Xcompiler -save-temps=obj`,
			`-Xcompiler -MMD,-MF,host.d`,
			`-Xcompiler -fprofile-generate`, `-Xcudafe --list=listing.txt`)
		again = append(again, `-lineinfo -Xcudafe --diag_suppress=177 -use_fast_math`,
			`-Xcompiler -DX='a\,b',-fvisibility=hidden,-march=native`)
	}
	for i, options := range append(apart, again...) {
		output := "apart" + string(rune('a'+i)) + ".o"
		if i >= len(apart) {
			output = "again" + string(rune('a'+i)) + ".o"
		}
		args := []string{"-arch=sm_90", "-c", "k.cu", "-o", output}
		p.Gnvcc(append(args, strings.Fields(options)...)...)
	}
	decideAll(t, p.Store.Path(), "maxnreg=40")
	was := filesIn(p)
	var said bytes.Buffer
	if n, err := apply.Build(context.Background(), p.Store, apply.Aim{Under: p.Dir}, &said); err != nil ||
		n != len(again) {
		t.Errorf("%d of %d run again, %v\n%s", n, len(again), err, &said)
	}
	if n := strings.Count(said.String(), "apply does not know it"); n != len(apart) {
		t.Errorf("%d of %d are said to be left alone\n%s", n, len(apart), &said)
	}
	now := filesIn(p)
	for name, hash := range now {
		if changed := was[name] != hash; changed != (strings.HasPrefix(name, "again") && filepath.Ext(name) == ".o") ||
			was[name] == "" {
			t.Errorf("%s is new or changed: %v", name, changed)
		}
	}
	if len(now) != len(was) {
		t.Errorf("files were %v, and are %v", maps.Keys(was), maps.Keys(now))
	}
}

// TestNotComparable: where the host compiler hides the device code (-flto), status shows what was
// built in; where two runs differ by themselves, apply says that, and does not compile to find it
// out again.
func TestNotComparable(t *testing.T) {
	kits.Long(t, "TestFolder says what is left alone")
	p := drivertest.NewProject(t, "13.0", map[string]string{
		"k.cu": "__global__ void k(float *p, int n) {" + drivertest.Wide + "}\n",
		"t.cu": "__global__ void t(float *p, int n) {" + drivertest.Wide + "}\n" +
			"const char *time() { return __TIME__; }\n"})
	p.Setenv()
	p.Gnvcc(strings.Fields("-arch=sm_90 -c k.cu -o k.o -Xcompiler -flto,-fno-fat-lto-objects")...)
	p.Gnvcc(strings.Fields("-arch=sm_90 -c t.cu -o t.o")...)
	decideAll(t, p.Store.Path(), "maxnreg=40")
	p.Gnvcc(strings.Fields("-arch=sm_90 -c k.cu -o k.o -Xcompiler -flto,-fno-fat-lto-objects")...)
	was := filesIn(p)
	time.Sleep(time.Second) // __TIME__ is another one when apply runs the command again
	for _, mostSeconds := range []int{60, 1} {
		var said bytes.Buffer
		begun := time.Now()
		if _, err := apply.Build(context.Background(), p.Store, apply.Aim{Under: p.Dir}, &said); err != nil ||
			!strings.Contains(said.String(), "two runs of the command") ||
			!strings.Contains(said.String(), "intermediate language") {
			t.Errorf("%v\n%s", err, &said)
		}
		if took := time.Since(begun).Seconds(); took > float64(mostSeconds) {
			t.Errorf("%.1f s to say\n%s", took, &said)
		}
	}
	if now := filesIn(p); !maps.Equal(was, now) {
		t.Errorf("files were %v, and are %v", was, now)
	}
	all, _, err := apply.Status(context.Background(), p.Store, p.Dir)
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if o := all[0]; o.State != "alone" || len(o.Kernels) != 1 || o.Kernels[0].Recipe != "maxnreg=40" {
		t.Errorf("%+v", o)
	}
}

// TestLinkCompiles: what nvlink itself compiles (-dlto), a library's kernels too, is known as nvcc's
// own, and revert has nothing to say of it.
func TestLinkCompiles(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": "__global__ void c(int *p) { *p = 1; }\n" +
		"__global__ void k(int *p) { c<<<1, 1>>>(p); }\n",
		"w.cu": "__global__ void w(float *p, int n) {" + drivertest.Wide + "}\n"})
	p.Setenv()
	p.Gnvcc(strings.Fields("-arch=sm_90 -dlto -dc k.cu")...)
	p.Gnvcc(strings.Fields("-arch=sm_90 -dlto -dlink k.o -lcudadevrt -o d.o")...)
	var said bytes.Buffer
	if _, err := apply.Build(context.Background(), p.Store, apply.Aim{Under: p.Dir, Look: p.Dir,
		Default: true}, &said); err != nil {
		t.Errorf("revert: %v\n%s", err, &said)
	}
	all, _, err := apply.Status(context.Background(), p.Store, p.Dir)
	if err != nil || len(all) != 1 || len(all[0].Kernels) < 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, k := range all[0].Kernels {
		if k.Unknown {
			t.Errorf("%s is not known", k.Kernel)
		}
	}
	// PTX and LTO code of one cicc: apply keeps both.
	p.Gnvcc("-gencode", "arch=compute_90,code=[sm_90,lto_90]", "-dc", "w.cu")
	decideAll(t, p.Store.Path(), "maxnreg=40")
	said.Reset()
	if n, err := apply.Build(context.Background(), p.Store, apply.Aim{Under: p.Dir}, &said); n != 1 || err != nil {
		t.Errorf("%d run again, %v\n%s", n, err, &said)
	}
}

// TestUnread: where nobody reads ptxas' messages, it ends as it does in nvcc (12.4's before it has
// written the cubin, others' not at all), in the first build, in a later one, and with a recipe.
func TestUnread(t *testing.T) {
	for _, version := range []string{"13.0", "12.4"} {
		p := drivertest.NewProject(t, version, map[string]string{"k.cu": "__global__ void k(float *p, int n) {" +
			drivertest.Wide + "}\n"})
		cubin := filepath.Join(p.Dir, "k.cubin")
		build := func(self string) bool {
			t.Helper()
			os.Remove(cubin)
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			read.Close()
			defer write.Close()
			cmd := exec.Command(self, "-arch=sm_80", "-Xptxas", "-v", "-cubin", "k.cu")
			if self == os.Args[0] {
				cmd.Args[0] = "gnvcc"
			}
			cmd.Dir, cmd.Env, cmd.Stderr = p.Dir, p.Env, write
			cmd.Run()
			_, err = os.Stat(cubin)
			return err == nil
		}
		want := build(filepath.Join(p.Kit, "bin/nvcc"))
		for _, when := range []string{"first", "again"} {
			if got := build(os.Args[0]); got != want {
				t.Errorf("%s, %s build: a cubin %v, with nvcc %v", version, when, got, want)
			}
		}
		p.Gnvcc("-arch=sm_80", "-Xptxas", "-v", "-cubin", "k.cu")
		decideAll(t, p.Store.Path(), "maxnreg=40")
		for _, when := range []string{"first", "again"} {
			if got := build(os.Args[0]); got != want {
				t.Errorf("%s, %s build with a recipe: a cubin %v, with nvcc %v", version, when, got, want)
			}
		}
	}
}

// TestChangedNvcc: where the nvcc of a command was changed since, that is said, and no source.
func TestChangedNvcc(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": "#ifndef N\n#define N 1\n#endif\n" +
		"__global__ void k(float *p, int n) {" + drivertest.Wide + "p[0] = N; }\n"})
	script := filepath.Join(p.Dir, "nvcc")
	write := func(more string) {
		drivertest.Program(t, script, "#!/bin/sh\nexec "+p.Kit+"/bin/nvcc \"$@\""+more+"\n")
	}
	write("")
	p.Env = append(p.Env, "GNVCC_NVCC="+script)
	p.Gnvcc("-arch=sm_90", "-c", "k.cu")
	decideAll(t, p.Store.Path(), "maxnreg=40")
	write(" -DN=2")
	os.Chtimes(script, time.Unix(1, 0), time.Unix(1, 0)) // times say nothing
	var said bytes.Buffer
	if _, err := apply.Build(context.Background(), p.Store, apply.Aim{Under: p.Dir}, &said); err != nil ||
		!strings.Contains(said.String(), script+" was changed since") {
		t.Errorf("%v\n%s", err, &said)
	}
}
