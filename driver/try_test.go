package driver

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/cache"
)

// identitiesOf are the identities of kernels, by their names.
func identitiesOf(units []Unit) map[string]string {
	out := map[string]string{}
	for _, u := range units {
		for _, k := range u.Kernels {
			out[k.Name+" "+u.Target] = k.Identity
		}
	}
	return out
}

// edit replaces a text in a file of the project.
func (p *project) edit(file, from, to string) {
	p.t.Helper()
	path := filepath.Join(p.dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(from)) {
		p.t.Fatalf("%s has no %q", file, from)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// TestTry runs a recorded command again after edits: what the kernels are now is told, as the next build tells it; nothing
// of the user's is written, and no host compiler runs.
func TestTry(t *testing.T) {
	p := newProject(t, "13.0", map[string]string{
		"k.h": "#define STEP 3\n",
		"k.cu": "#include \"k.h\"\n__device__ float by(float x) { return x * STEP; }\n" +
			"__global__ void one(float *p, int n) { for (int i = 0; i < n; i++) p[i] += 1; }\n" +
			"__global__ void two(float *p) { p[threadIdx.x] = by(p[threadIdx.x]); }\n#error_here\n" +
			"int main() { one<<<1, 1>>>(0, 0); two<<<1, 1>>>(0); }\n"})
	p.edit("k.cu", "#error_here\n", "#ifndef __CUDA_ARCH__\n#include \"host.h\"\n#endif\n")
	os.WriteFile(filepath.Join(p.dir, "host.h"), nil, 0o600)
	for _, setting := range p.env {
		if name, value, _ := strings.Cut(setting, "="); name == "GNVCC_NVCC" || name == "TMPDIR" || name == "GNVCC_STRICT" {
			t.Setenv(name, value)
		}
	}
	for _, args := range [][]string{
		{"-arch=sm_90", "-c", "k.cu", "-o", "k.o"},
		{"-O2", "-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90", "-o", "app", "k.cu", "-MD", "-MF", "k.d"},
		{"-arch=sm_90", "-dc", "k.cu", "-o", "r.o"},
	} {
		p.gnvcc(args...)
		commands := ReadBuilds(p.store).Commands([]string{p.dir})
		at := slices.IndexFunc(commands, func(b Built) bool { return strings.HasSuffix(b.Name, " "+args[slices.Index(args, "-o")+1]) })
		if at < 0 {
			t.Fatalf("%q is not among %+v", args, commands)
		}
		b := commands[at]
		for _, file := range []string{"k.cu", "k.h"} {
			if !slices.Contains(b.Files, filepath.Join(p.dir, file)) {
				t.Errorf("%s is not among the files of %s", file, b.Name)
			}
		}
		if len(b.Tools) != 3 {
			t.Errorf("tools: %q", b.Tools)
		}
		present := p.files()
		host := mustWrite(t, filepath.Join(p.dir, "host.h"), "void unfit() { asm(\"no_such_instruction\"); }\n")
		was := identitiesOf(b.Units)
		try := func() map[string]string {
			t.Helper()
			trial, err := Try(context.Background(), p.store, b.Hash)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range trial.Units {
				if content, err := p.store.Object(u.Cubin); err != nil || !hasKernels(content) {
					t.Errorf("the cubin of a trial is not kept: %v", err)
				}
				if u.Source != filepath.Join(p.dir, "k.cu") {
					t.Errorf("source %q", u.Source)
				}
			}
			return identitiesOf(trial.Units)
		}
		if now := try(); !maps.Equal(now, was) {
			t.Errorf("nothing was edited: %v, and now %v", was, now)
		}
		p.edit("k.h", "STEP 3", "STEP 5")
		p.edit("k.cu", "__global__ void one", "\n// a comment\n__global__ void one")
		now := try()
		for name, identity := range now {
			if same := was[name] == identity; same != strings.Contains(name, "one") {
				t.Errorf("%s: as it was: %v", name, same)
			}
		}
		if after := p.files(); !maps.EqualFunc(present, after, func(a, b string) bool { return a == b }) {
			t.Errorf("%q: files were %v, and are %v", args, present, after)
		}
		host()
		p.gnvcc(args...)
		for _, c := range ReadBuilds(p.store).Commands(nil) {
			if c.Hash == b.Hash && !maps.Equal(identitiesOf(c.Units), now) {
				t.Errorf("the build gave %v, and the trial %v", identitiesOf(c.Units), now)
			}
		}
		p.edit("k.h", "STEP 5", "STEP 3")
		p.edit("k.cu", "\n// a comment\n", "")
	}
	// A source that can't be compiled is the user's own error.
	p.edit("k.cu", "p[i] += 1;", "p[i] += ")
	hash := ReadBuilds(p.store).Commands(nil)[0].Hash
	if _, err := Try(context.Background(), p.store, hash); !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), "k.cu(") {
		t.Errorf("a syntax error: %v", err)
	}
	if _, err := Try(context.Background(), p.store, cache.Hash(nil)); err == nil {
		t.Error("a command that nobody knows was tried")
	}
}

// files are the hashes of the outputs that the project has.
func (p *project) files() map[string]string {
	out := map[string]string{}
	list, _ := os.ReadDir(p.dir)
	for _, e := range list {
		if name := e.Name(); filepath.Ext(name) != ".cu" && filepath.Ext(name) != ".h" {
			text, err := os.ReadFile(filepath.Join(p.dir, name))
			if err != nil {
				p.t.Fatal(err)
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
