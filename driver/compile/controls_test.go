package compile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/toolkit"
	"gnvcc/rewrite"
)

// Real controls files are NVIDIA's to give and are not part of this project. GNVCC_TEST_CONTROLS
// may name one that was made for 13.3; then the tests below use it and the real ptxas. Else a
// script stands in front of ptxas that takes one content.

// TestControlsRefused: what real versions of ptxas say of files that are none.
func TestControlsRefused(t *testing.T) {
	ctx := context.Background()
	for version, want := range map[string]string{
		"12.4": "takes no controls files: 13.3 and later do",
		"13.0": "takes no controls files: 13.3 and later do",
		"13.3": "does not take it: ptxas fatal   : Invalid compiler controls file (such a file is for one release of ptxas)",
		"13.5": "does not take it: ptxas fatal   : Invalid compiler controls file (such a file is for one release of ptxas)",
	} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{"bad, file's.acf": "no such thing",
				"empty.acf": "", "large.acf": strings.Repeat("x", maxControls+1)})
			toolkit := toolkit.Toolkit{Nvcc: filepath.Join(p.Kit, "bin/nvcc")}
			_, err := KeepControls(ctx, p.Store, toolkit, []string{filepath.Join(p.Dir, "bad, file's.acf")})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			if hashes, err := KeepControls(ctx, p.Store, toolkit, nil); err != nil || hashes != nil {
				t.Errorf("no file at all: %v, %v", hashes, err)
			}
			if takesControls(version+".1") != nil {
				return
			}
			for name, want := range map[string]string{
				"empty.acf": "not in expected format", "missing.acf": "no such file",
				"large.acf": "a few thousand", ".": "is not a regular file",
			} {
				if _, err := KeepControls(ctx, p.Store, toolkit,
					[]string{filepath.Join(p.Dir, name)}); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %s", name, err, want)
				}
			}
		})
	}
}

func TestTakesControls(t *testing.T) {
	for version, want := range map[string]bool{"13.3.33": true, "13.5.1": true, "14.0.1": true,
		"13.10.2": true, "13.2.78": false, "12.9.86": false, "": false, "x.y": false} {
		if err := takesControls(version); (err == nil) != want {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// controlsProject is a project whose ptxas (13.3) takes a controls file, and that file.
func controlsProject(t *testing.T) (*drivertest.Project, string) {
	t.Helper()
	p := drivertest.NewProject(t, "13.3",
		map[string]string{"k.cu": "__global__ void shown(float *p, int n) {" + drivertest.Wide +
			"}\nint main() { shown<<<1, 1>>>(0, 0); }\n", "my, own 'controls.acf": "decisions"})
	if real := os.Getenv("GNVCC_TEST_CONTROLS"); real != "" {
		return p, real
	}
	shadow := filepath.Join(t.TempDir(), "kit")
	if err := drivertest.ShadowOf(p.Kit, shadow, filepath.Join(t.TempDir(), "calls")); err != nil {
		t.Fatal(err)
	}
	script := `#!/bin/bash
# ptxas, save that it takes one controls file, for which it compiles with -O1
words=() more=()
for w; do
  case $w in
  --apply-controls=*) [ "$(cat "${w#*=}")" = decisions ] || { echo "ptxas fatal   : Invalid compiler controls file" >&2; exit 255; }; more=(-O1) ;;
  *) words+=("$w") ;;
  esac
done
exec '` + p.Kit + `/bin/ptxas' "${words[@]}" "${more[@]}"
`
	if err := os.WriteFile(filepath.Join(shadow, "bin/ptxas"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	p.Env = append(p.Env, "GNVCC_NVCC="+filepath.Join(shadow, "bin/nvcc"))
	p.Kit = shadow
	return p, filepath.Join(p.Dir, "my, own 'controls.acf")
}

// TestControls: a controls file from the user's hand to a candidate and to a build; what he does to
// his file afterwards changes nothing, and a store that has lost the content gives nvcc's own
// build.
func TestControls(t *testing.T) {
	p, file := controlsProject(t)
	ctx := context.Background()
	hashes, err := KeepControls(ctx, p.Store, toolkit.Toolkit{Nvcc: filepath.Join(p.Kit, "bin/nvcc")},
		[]string{file})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(hashes) != 1 || hashes[0] != cache.Hash(content) {
		t.Fatalf("hashes: %v", hashes)
	}
	if strings.HasPrefix(file, p.Dir) {
		if err := os.WriteFile(file, []byte("something else"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := "ptxas=" + rewrite.Controls + "=" + hashes[0]
	build := func() []byte {
		t.Helper()
		p.Gnvcc("-arch=sm_90", "-cubin", "-o", "k.cubin", "k.cu")
		cubin, err := os.ReadFile(filepath.Join(p.Dir, "k.cubin"))
		if err != nil {
			t.Fatal(err)
		}
		return cubin
	}
	plain := build()
	c := New(p.Store, t.TempDir())
	s, err := c.Kernel(cache.Hash(plain), "_Z5shownPfi")
	if err != nil {
		t.Fatal(err)
	}
	if cand, err := c.Compile(ctx, s, drivertest.MustParse(t, text)); err != nil ||
		cand.Build.Registers == 0 {
		t.Errorf("the candidate: %+v, %v", cand, err)
	}
	if _, err := c.Compile(ctx, s, drivertest.MustParse(t, "ptxas="+rewrite.Controls+"="+
		cache.Hash([]byte("never seen")))); !errors.Is(err, cache.ErrNone) ||
		!strings.Contains(err.Error(), "gnvcc tune --controls puts it there") {
		t.Errorf("a file that is not in the store: %v", err)
	}
	if err := p.Store.Spool(cache.Decisions, s.Identity, cache.Decision{Identity: s.Identity,
		Kernel: s.Kernel, Target: s.Target, Recipe: text, Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := p.Store.PublishSpooled(ctx); err != nil {
		t.Fatal(err)
	}
	tuned := build()
	if bytes.Equal(tuned, plain) {
		t.Error("the build with the controls file is nvcc's own")
	}
	if again := build(); !bytes.Equal(again, tuned) {
		t.Error("a second build is another one")
	}
	// The store loses the file, and with it what was built.
	if err := os.Remove(p.Store.ObjectPath(hashes[0])); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(p.Store.ObjectPath(cache.Hash(tuned))); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	p.Env = append(p.Env, "GNVCC_STRICT=", "GNVCC_LOG="+log)
	if lost := build(); !bytes.Equal(lost, plain) {
		t.Error("the build without the file is not nvcc's own")
	}
	if said, _ := os.ReadFile(log); !strings.Contains(string(said),
		"the controls file of the recipe is not in the store") {
		t.Errorf("the log: %s", said)
	}
	// Back again (the same content under any name), the next build has it.
	if hash, err := p.Store.PutObject(content); err != nil || hash != hashes[0] {
		t.Fatal(hash, err)
	}
	if back := build(); !bytes.Equal(back, tuned) {
		t.Error("the build with the file back is another one")
	}
}

// TestControlsOldPtxas: a recipe with a controls file, where ptxas is too old, is a refusal that
// says so.
func TestControlsOldPtxas(t *testing.T) {
	p := drivertest.NewProject(t, "13.0",
		map[string]string{"k.cu": "__global__ void k(float *p) { p[0] = 1; }\n"})
	p.Gnvcc("-arch=sm_90", "-cubin", "-o", "k.cubin", "k.cu")
	content, err := os.ReadFile(filepath.Join(p.Dir, "k.cubin"))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := p.Store.PutObject([]byte("decisions"))
	if err != nil {
		t.Fatal(err)
	}
	c := New(p.Store, t.TempDir())
	s, err := c.Kernel(cache.Hash(content), "_Z1kPf")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Compile(context.Background(), s, drivertest.MustParse(t, fmt.Sprintf("ptxas=%s=%s",
		rewrite.Controls, hash)))
	if err == nil || !strings.Contains(err.Error(), "takes no controls files: 13.3 and later do") {
		t.Errorf("%v", err)
	}
}
