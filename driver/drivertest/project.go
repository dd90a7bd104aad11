package drivertest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/install/kits"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/cubin"
)

// A built Project in a folder of its own, for tests of what comes after builds.
type Project struct {
	T     *testing.T
	Kit   string
	Dir   string
	Store *cache.Store
	Env   []string
}

func NewProject(t *testing.T, version string, files map[string]string) *Project {
	t.Helper()
	p := &Project{T: t, Kit: Toolkit(t, version), Dir: t.TempDir()}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "store")
	var err error
	if p.Store, err = cache.Open(dir); err != nil {
		t.Fatal(err)
	}
	p.Env = append(os.Environ(), kits.Short(slices.Collect(maps.Values(files))...), "GNVCC_STRICT=1", "GNVCC_STORE="+dir, "GNVCC_NVCC="+
		filepath.Join(p.Kit, "bin/nvcc"), "TMPDIR="+t.TempDir())
	return p
}

// Gnvcc runs gnvcc in the project.
func (p *Project) Gnvcc(args ...string) {
	p.T.Helper()
	self, err := os.Executable()
	if err != nil {
		p.T.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "gnvcc" // TestMain's word for the face
	cmd.Dir, cmd.Env = p.Dir, p.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		p.T.Fatalf("gnvcc %q: %v\n%s", args, err, out)
	}
}

// Cubin gives the cubin in a file that nvcc made, as the driver will load it, and its hash.
func (p *Project) Cubin(file, target string) string {
	p.T.Helper()
	dir := p.T.TempDir()
	cmd := exec.Command(filepath.Join(p.Kit, "bin/cuobjdump"), "-xelf", "all",
		filepath.Join(p.Dir, file))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		p.T.Fatalf("cuobjdump: %v\n%s", err, out)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*."+target+".cubin"))
	for _, f := range found {
		if text, err := os.ReadFile(f); err == nil && KernelsIn(text) {
			return cache.Hash(text)
		}
	}
	p.T.Fatalf("%s has no cubin with kernels for %s", file, target)
	return ""
}

func MustParse(t testing.TB, text string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const Wide = `
  float a[32];
  for (int i = 0; i < 32; i++) a[i] = p[i * n];
  for (int k = 0; k < n; k++)
    for (int i = 0; i < 32; i++) a[i] = a[i] * a[(i + 1) & 31] + 1.0f;
  for (int i = 0; i < 32; i++) p[i * n] = a[i];
`

// Toolkits are the versions that tests run on where they are installed: each that does something in
// another way than the one before. 13.3 does as 13.0 and 13.5 do, and is tried by GNVCC_TESTS=longer.
var Toolkits = func() []string {
	if kits.Longer() {
		return []string{"11.8", "12.4", "13.0", "13.3", "13.5"}
	}
	return []string{"11.8", "12.4", "13.0", "13.5"}
}()

// Toolkit gives the path of an installed toolkit, or skips the test and says how to get it.
func Toolkit(t testing.TB, version string) string {
	t.Helper()
	return kits.Need(t, version).Dir
}

// ShadowOf makes a toolkit of links, save for ptxas and cicc, which are scripts that write a line
// and go on as the real tool.
func ShadowOf(kit, shadow, calls string) error {
	scripts := map[string]string{}
	for _, tool := range []string{"bin/ptxas", "nvvm/bin/cicc"} {
		scripts[tool] = fmt.Sprintf("case \"$1\" in --version) ;; *) echo %s >>'%s';; esac\nexec '%%[1]s' \"$@\"",
			filepath.Base(tool), calls)
	}
	return Shadow(kit, shadow, scripts)
}

// Shadow makes a toolkit of links into another one, some of whose tools are scripts of sh: %[1]s in
// one stands for the other toolkit's tool.
func Shadow(kit, shadow string, scripts map[string]string) error {
	for _, dir := range []string{"bin", "nvvm/bin"} { // before any link: nothing is written through one
		if err := os.MkdirAll(filepath.Join(shadow, dir), 0o755); err != nil {
			return err
		}
	}
	for _, dir := range []string{".", "bin", "nvvm", "nvvm/bin"} {
		entries, _ := os.ReadDir(filepath.Join(kit, dir))
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			script, ok := scripts[path]
			if !ok {
				os.Symlink(filepath.Join(kit, path), filepath.Join(shadow, path)) // bin is there
				continue
			}
			real, err := filepath.EvalSymlinks(filepath.Join(kit, path))
			if err != nil {
				return err
			}
			path = filepath.Join(shadow, path)
			os.Remove(path) // never through a link
			if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\n"+script+"\n", real), 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// Program writes a file that can be run.
func Program(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// Run runs a program and gives what it printed.
func Run(argv ...string) (string, error) {
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	return string(out), err
}

// Kept puts decisions into a store, one after the other, and publishes them.
func Kept(t *testing.T, store *cache.Store, decisions ...cache.Decision) *cache.Snapshot {
	t.Helper()
	for _, d := range decisions {
		if err := store.Spool(cache.Decisions, d.Key(), d); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.PublishSpooled(context.Background()); err != nil {
		t.Fatal(err)
	}
	sn, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sn.Close() })
	return sn
}

func Seen(device, text string, minute int) cache.Decision {
	d := cache.Decision{Identity: strings.Repeat("ab", 32), Kernel: "k", Recipe: text,
		Exactness: "construction", Time: time.Unix(int64(60*minute), 0)}
	d.Evidence.Device = device
	d.Evidence.Launches = []cache.Launch{{Count: 1}}
	return d
}

func Approximated(device, text string, minute int, files ...string) cache.Decision {
	d := Seen(device, text, minute)
	d.Exactness, d.For = "approximate", files
	return d
}

func Write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Edit replaces a text in a file of the project.
func (p *Project) Edit(file, from, to string) {
	p.T.Helper()
	path := filepath.Join(p.Dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		p.T.Fatal(err)
	}
	if !bytes.Contains(text, []byte(from)) {
		p.T.Fatalf("%s has no %q", file, from)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600); err != nil {
		p.T.Fatal(err)
	}
}

// KernelsIn reports whether a cubin holds kernels.
func KernelsIn(content []byte) bool {
	f, err := cubin.Read(content)
	return err == nil && len(f.Kernels) > 0
}

// Setenv has this process find the toolkit and the temporary folder of the project's commands.
func (p *Project) Setenv() {
	p.T.Helper()
	for _, setting := range p.Env {
		if name, value, _ := strings.Cut(setting, "="); name == "GNVCC_NVCC" || name == "TMPDIR" {
			p.T.Setenv(name, value)
		}
	}
}
