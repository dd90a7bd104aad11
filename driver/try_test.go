package driver

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/record"
	"gnvcc/install/kits"
)

// identitiesOf are the identities of kernels, by their names.
func identitiesOf(units []record.Unit) map[string]string {
	out := map[string]string{}
	for _, u := range units {
		for _, k := range u.Kernels {
			out[k.Name+" "+u.Target] = k.Identity
		}
	}
	return out
}

// TestTry runs a recorded command again after edits: what the kernels are now is reported, as the
// next build tells it; nothing of the user's is written, and no host compiler runs.
func TestTry(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{
		"k.h": "#define STEP 3\n",
		"k.cu": "#include \"k.h\"\n__device__ float by(float x) { return x * STEP; }\n" +
			"__global__ void one(float *p, int n) { for (int i = 0; i < n; i++) p[i] += 1; }\n" +
			"__global__ void two(float *p) { p[threadIdx.x] = by(p[threadIdx.x]); }\n#error_here\n" +
			"int main() { one<<<1, 1>>>(0, 0); two<<<1, 1>>>(0); }\n"})
	p.Edit("k.cu", "#error_here\n", "#ifndef __CUDA_ARCH__\n#include \"host.h\"\n#endif\n")
	os.WriteFile(filepath.Join(p.Dir, "host.h"), nil, 0o600)
	p.Setenv()
	t.Setenv("GNVCC_STRICT", "1")
	lines := [][]string{
		{"-arch=sm_90", "-c", "k.cu", "-o", "k.o"},
		{"-O2", "-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90", "-o",
			"app", "k.cu", "-MD", "-MF", "k.d"},
		{"-arch=sm_90", "-dc", "k.cu", "-o", "r.o"},
	}
	if !kits.Every() {
		lines = lines[:1]
	}
	for _, args := range lines {
		p.Gnvcc(args...)
		commands := apply.ReadBuilds(p.Store).Commands([]string{p.Dir})
		at := slices.IndexFunc(commands, func(b apply.Built) bool {
			return strings.HasSuffix(b.Name, " "+args[slices.Index(args, "-o")+1])
		})
		if at < 0 {
			t.Fatalf("%q is not among %+v", args, commands)
		}
		b := commands[at]
		for _, file := range []string{"k.cu", "k.h"} {
			if !slices.Contains(b.Files, filepath.Join(p.Dir, file)) {
				t.Errorf("%s is not among the files of %s", file, b.Name)
			}
		}
		if len(b.Tools) != 3 {
			t.Errorf("tools: %q", b.Tools)
		}
		present := filesIn(p)
		host := mustWrite(t, filepath.Join(p.Dir, "host.h"),
			"void unfit() { asm(\"no_such_instruction\"); }\n")
		was := identitiesOf(b.Units)
		try := func() map[string]string {
			t.Helper()
			trial, err := apply.Try(context.Background(), p.Store, b.Hash)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range trial.Units {
				if content, err := p.Store.Object(u.Cubin); err != nil || !drivertest.KernelsIn(content) {
					t.Errorf("the cubin of a trial is not kept: %v", err)
				}
				if u.Source != filepath.Join(p.Dir, "k.cu") {
					t.Errorf("source %q", u.Source)
				}
			}
			return identitiesOf(trial.Units)
		}
		if now := try(); !maps.Equal(now, was) {
			t.Errorf("nothing was edited: %v, and now %v", was, now)
		}
		p.Edit("k.h", "STEP 3", "STEP 5")
		p.Edit("k.cu", "__global__ void one", "\n// a comment\n__global__ void one")
		now := try()
		for name, identity := range now {
			if same := was[name] == identity; same != strings.Contains(name, "one") {
				t.Errorf("%s: as it was: %v", name, same)
			}
		}
		if after := filesIn(p); !maps.EqualFunc(present, after, func(a, b string) bool {
			return a == b
		}) {
			t.Errorf("%q: files were %v, and are %v", args, present, after)
		}
		host()
		p.Gnvcc(args...)
		for _, c := range apply.ReadBuilds(p.Store).Commands(nil) {
			if c.Hash == b.Hash && !maps.Equal(identitiesOf(c.Units), now) {
				t.Errorf("the build gave %v, and the trial %v", identitiesOf(c.Units), now)
			}
		}
		p.Edit("k.h", "STEP 5", "STEP 3")
		p.Edit("k.cu", "\n// a comment\n", "")
	}
	// A source that can't be compiled is the user's own error.
	p.Edit("k.cu", "p[i] += 1;", "p[i] += ")
	hash := apply.ReadBuilds(p.Store).Commands(nil)[0].Hash
	if _, err := apply.Try(context.Background(), p.Store, hash); !errors.Is(err, apply.ErrSource) ||
		!strings.Contains(err.Error(), "k.cu(") {
		t.Errorf("a syntax error: %v", err)
	}
	if _, err := apply.Try(context.Background(), p.Store, cache.Hash(nil)); err == nil {
		t.Error("a command that nobody knows was tried")
	}
}

// filesIn are the hashes of the outputs that the project has.
func filesIn(p *drivertest.Project) map[string]string {
	out := map[string]string{}
	list, _ := os.ReadDir(p.Dir)
	for _, e := range list {
		if name := e.Name(); filepath.Ext(name) != ".cu" && filepath.Ext(name) != ".h" {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				p.T.Fatal(err)
			}
			out[name] = cache.Hash(text)
		}
	}
	return out
}

// mustWrite writes a file, and gives what empties it.
func mustWrite(t *testing.T, path, text string) func() {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() { os.WriteFile(path, nil, 0o600) }
}

// TestTryOtherwise: a command is tried with another toolkit, more options and a folder elsewhere;
// what it gives is in a store of its own, and the user's has no word of it.
func TestTryOtherwise(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{
		"k.cu": "#include \"k.h\"\n__global__ void one(float *p) " +
			"{ p[threadIdx.x] = p[threadIdx.x] * STEP + 1; }\n"})
	p.Setenv()
	include := filepath.Join(t.TempDir(), "include")
	os.MkdirAll(include, 0o700)
	os.WriteFile(filepath.Join(include, "k.h"), []byte("#define STEP 3\n"), 0o600)
	p.Gnvcc("-arch=sm_90", "-O3", "-I"+include, "--keep", "-c", "k.cu", "-o", "k.o")
	b := apply.ReadBuilds(p.Store).Commands([]string{p.Dir})[0]
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	os.MkdirAll(filepath.Join(elsewhere, "include"), 0o700)
	os.WriteFile(filepath.Join(elsewhere, "include", "k.h"), []byte("#define STEP 5\n"), 0o600)
	present := filesIn(p)
	try := func(o apply.Otherwise) record.Unit {
		t.Helper()
		into, err := cache.Open(filepath.Join(t.TempDir(), "store"))
		if err != nil {
			t.Fatal(err)
		}
		o.Store = into
		trial, err := apply.TryOtherwise(context.Background(), p.Store, b.Hash, o)
		if err != nil || len(trial.Units) != 1 {
			t.Fatalf("%+v, %v", trial, err)
		}
		u := trial.Units[0]
		if _, err := into.Object(u.Cubin); err != nil {
			t.Errorf("its cubin is not in its store: %v", err)
		}
		return u
	}
	own := try(apply.Otherwise{Flags: []string{"-Xptxas=-v"}})
	if own.Kernels[0].Identity != b.Units[0].Kernels[0].Identity {
		t.Error("as it was recorded it is another kernel")
	}
	// without --keep, whose files are the user's
	if as := try(apply.Otherwise{}); as.Code != own.Code {
		t.Error("with no option more it is other code")
	}
	moved := try(apply.Otherwise{Flags: []string{"-Xptxas=-v"}, Moved: []apply.Move{{From: include,
		To: elsewhere + "/include"}}})
	flags := try(apply.Otherwise{Flags: []string{"-fmad=false"}})
	if moved.Code == own.Code || flags.Code == own.Code {
		t.Error("a header elsewhere, or other options, change nothing")
	}
	if p.Store.HasObject(flags.PTX) || p.Store.HasObject(moved.PTX) {
		t.Error("the user's store has PTX of a trial")
	}
	if kit, ok := kits.Find("13.3"); ok {
		if u := try(apply.Otherwise{Nvcc: kit.Nvcc(),
			Flags: []string{"-Xptxas=-v"}}); !strings.HasPrefix(u.Version, "13.3.") {
			t.Errorf("it was built by ptxas %s", u.Version)
		}
	} else {
		t.Log("SKIPPED in part: no toolkit 13.3 here")
	}
	if after := filesIn(p); !maps.Equal(present, after) {
		t.Errorf("files were %v, and are %v", present, after)
	}
}
