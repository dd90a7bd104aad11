package accidents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/install/kits"
)

// What the tests share: the gnvcc binary, a project with references, and decisions that are published
// meanwhile.

var (
	gnvcc string // the binary
	kit   string // the toolkit, "" where there is none
	long  = kits.Longer()
)

func TestMain(m *testing.M) {
	os.Exit(prepared(m))
}

func prepared(m *testing.M) int {
	if found, ok := kits.Find("13.0"); ok {
		kit = found.Dir
	}
	dir, err := os.MkdirTemp("", "accidents")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	gnvcc = filepath.Join(dir, "gnvcc")
	if err := buildGnvcc(gnvcc, "accidents-1"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func buildGnvcc(path, version string) error {
	if out, err := exec.Command("go", "build", "-ldflags", "-X main.version="+version, "-o", path,
		"gnvcc/cmd/gnvcc").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// rounds is how often something is done: normally, a sixth of it where not every test is to run,
// and for long.
func rounds(normal, many int) int {
	switch {
	case long:
		return many
	case !kits.Every():
		return max(1, normal/6)
	}
	return normal
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A unit is a source file with what it may become.
type unit struct {
	name   string // without .cu
	recipe string // decided for its kernel, "" for none
	nvcc   []byte // the cubin by nvcc alone
	tuned  []byte // with the recipe; nil without
}

// A place is a project with a store.
type place struct {
	dir, store, tmp string
	units           []*unit
	env             []string
	gnvcc           string // another binary, "" for the usual one
	ext             string // what the builds begin with, "" for .cu
	shell           string // what sh does before the build
}

// kernel has a loop (for source levers) and enough registers that a limit shows. Each n gives
// another kernel.
func kernel(n int) string {
	return fmt.Sprintf(`__global__ void kernel%d(float *p, const float *q, int n) {
  unsigned a[24];
  for (int i = 0; i < 24; i++) a[i] = q[i * n + threadIdx.x];
  for (int k = 0; k < n; k++)
    for (int i = 0; i < 24; i++) a[i] = a[i] * a[(i + 1) %% 24] + %d;
  for (int i = 0; i < 24; i++) p[i * n + threadIdx.x] = a[i];
}
`, n, n+1)
}

// newPlace makes an empty project, or skips where there is no toolkit.
func newPlace(t *testing.T) *place {
	t.Helper()
	kits.Need(t, "13.0")
	root := t.TempDir()
	p := &place{dir: filepath.Join(root, "project"), store: filepath.Join(root, "store"),
		tmp: filepath.Join(root, "tmp")}
	ok(t, os.Mkdir(p.dir, 0o755))
	ok(t, os.Mkdir(p.tmp, 0o755))
	for _, setting := range os.Environ() {
		switch name, _, _ := strings.Cut(setting, "="); {
		case strings.HasPrefix(name, "GNVCC_"), strings.HasPrefix(name, "NVCC_"), name == "TMPDIR",
			name == "MAKEFLAGS", name == "MFLAGS", name == "MAKELEVEL":
		default:
			p.env = append(p.env, setting)
		}
	}
	p.env = append(p.env, "GNVCC_STORE="+p.store, "GNVCC_NVCC="+filepath.Join(kit, "bin/nvcc"),
		"TMPDIR="+p.tmp, "NVCC_PREPEND_FLAGS="+kits.ShortFlag())
	return p
}

// add writes n units and has nvcc make their references.
func (p *place) add(t *testing.T, n int) {
	t.Helper()
	var rules strings.Builder
	for range n {
		u := &unit{name: fmt.Sprint("u", len(p.units))}
		ok(t, os.WriteFile(filepath.Join(p.dir, u.name+".cu"), []byte(kernel(len(p.units))), 0o644))
		fmt.Fprintf(&rules,
			"%[1]s.ref %[1]s.cubin: %[1]s.cu\n\t@$(NVCC) -arch=sm_80 -cubin -o $@ $<\n%[1]s.ptx: %[1]s.cu\n\t@$(NVCC) -arch=sm_80 -ptx -o $@ $<\n", u.name)
		p.units = append(p.units, u)
	}
	f, err := os.OpenFile(filepath.Join(p.dir, "Makefile"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	ok(t, err)
	_, err = f.WriteString(rules.String())
	ok(t, err)
	ok(t, f.Close())
	p.make(t, 2, filepath.Join(kit, "bin/nvcc"), "ref")
	for _, u := range p.units {
		u.nvcc, err = os.ReadFile(filepath.Join(p.dir, u.name+".ref"))
		ok(t, err)
	}
}

// make makes all units' files of one kind and gives how long it took. Make and its children must
// not say a word.
func (p *place) make(t *testing.T, jobs int, nvcc, ext string) time.Duration {
	t.Helper()
	args := []string{"-s", fmt.Sprint("-j", jobs), "NVCC=" + nvcc}
	for _, u := range p.units {
		args = append(args, u.name+"."+ext)
	}
	cmd := exec.Command("make", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("make: %v\n%s", err, out)
	}
	return time.Since(start)
}

// decide publishes each unit's recipe for its kernel, which must have been built before, and builds
// it once in quiet for reference. It gives the kernel's identity by the unit.
func (p *place) decide(t *testing.T) map[*unit]string {
	t.Helper()
	s, err := cache.Open(p.store)
	ok(t, err)
	ids := p.identities(t, s)
	out := map[*unit]string{}
	for i, u := range p.units {
		if out[u] = ids[fmt.Sprintf("_Z%dkernel%dPfPKfi", len(fmt.Sprint("kernel", i)),
			i)]; out[u] == "" {
			t.Fatalf("the build of %s left no record", u.name)
		}
		if u.recipe != "" {
			d, err := compile.Assume(t.Context(), s, out[u], u.recipe)
			ok(t, err)
			ok(t, s.Spool(cache.Decisions, out[u], d))
		}
	}
	publish(t, s)
	for _, u := range p.units {
		if u.recipe != "" {
			p.build(t, u)
			u.tuned = p.cubin(t, u)
			if bytes.Equal(u.tuned, u.nvcc) {
				t.Fatalf("%s: the recipe %q changed nothing: the test would test nothing", u.name, u.recipe)
			}
		}
	}
	return out
}

// identities gives the kernels' identities by their names, from all records of assemblies.
func (p *place) identities(t *testing.T, s *cache.Store) map[string]string {
	t.Helper()
	ids := map[string]string{}
	take := func(_ string, raw []byte) error {
		var a cache.Assembly
		if err := json.Unmarshal(raw, &a); err != nil {
			return err
		}
		for _, k := range a.Kernels {
			ids[k.Name] = k.Identity
		}
		return nil
	}
	ok(t, s.EachPending(cache.Assemblies, take))
	sn, err := s.Snapshot()
	if err != nil && !errors.Is(err, cache.ErrNone) {
		t.Fatal(err)
	}
	ok(t, sn.Each(cache.Assemblies, "", take))
	sn.Close()
	return ids
}

func publish(t *testing.T, s *cache.Store) {
	t.Helper()
	o, err := s.Own(context.Background())
	for begun := time.Now(); errors.Is(err, cache.ErrOwned) && time.Since(begun) < time.Minute; {
		time.Sleep(10 * time.Millisecond) // a process that was killed may still be ending
		o, err = s.Own(context.Background())
	}
	ok(t, err)
	defer o.Close()
	if notes := o.Notes(); len(notes) > 0 {
		t.Errorf("mended: %q", notes)
	}
	_, err = o.Merge()
	ok(t, err)
	ok(t, o.Publish())
}

// publishing has decisions published, some hundred in a second, as long as builds go on. stop ends it:
// none of them may be lost.
func (p *place) publishing(t *testing.T) (stop func() int) {
	t.Helper()
	s, err := cache.Open(p.store)
	ok(t, err)
	end, done := make(chan bool), make(chan []string)
	go func() {
		var keys []string
		for {
			select {
			case <-end:
				done <- keys
				return
			case <-time.After(4 * time.Millisecond):
			}
			key := cache.Hash(fmt.Append(nil, "elsewhere", len(keys)))
			err := s.Spool(cache.Decisions, key, cache.Decision{Identity: key, Kernel: "elsewhere",
				Recipe: "maxnreg=40", Time: time.Now()})
			if err == nil {
				err = s.PublishSpooled(context.Background())
			}
			if err != nil {
				t.Error(err)
			}
			keys = append(keys, key)
		}
	}()
	return func() int {
		close(end)
		keys := <-done
		publish(t, s)
		sn, err := s.Snapshot()
		ok(t, err)
		defer sn.Close()
		for _, key := range keys {
			if there, err := sn.Get(cache.Decisions, key, nil); !there || err != nil {
				t.Errorf("lost: decision %s: %v", key, err)
			}
		}
		return len(keys)
	}
}

// command is the build of one unit, in a process group of its own.
func (p *place) command(u *unit) *exec.Cmd {
	self := gnvcc
	if p.gnvcc != "" {
		self = p.gnvcc
	}
	ext := p.ext
	if ext == "" {
		ext = ".cu"
	}
	args := []string{"-arch=sm_80", "-cubin", "-o", u.name + ".cubin", u.name + ext}
	cmd := exec.Command(self, args...)
	if p.shell != "" {
		cmd = exec.Command("/bin/sh", append([]string{"-c", p.shell + `exec "$@"`, "sh", self},
			args...)...)
	}
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// build builds a unit: exit code 0 and not a word, or the test fails. Nothing that can happen to a
// store takes this long.
func (p *place) build(t *testing.T, u *unit) {
	t.Helper()
	os.Remove(filepath.Join(p.dir, u.name+".cubin"))
	cmd := p.command(u)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	ok(t, cmd.Start())
	hung := time.AfterFunc(45*time.Second, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	if !hung.Stop() {
		t.Errorf("building %s took more than 45 s", u.name)
	}
	if err != nil || out.Len() > 0 {
		t.Errorf("building %s: %v\n%s", u.name, err, out.Bytes())
	}
}

func (p *place) cubin(t *testing.T, u *unit) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, u.name+".cubin"))
	if err != nil {
		t.Error(err)
	}
	return b
}

// buildIs builds a unit and compares: with nvcc's cubin, or with that of the recipe.
func (p *place) buildIs(t *testing.T, u *unit, tuned bool) {
	t.Helper()
	p.build(t, u)
	want, whose := u.nvcc, "nvcc's"
	if tuned && u.tuned != nil {
		want, whose = u.tuned, "the recipe's"
	}
	if !bytes.Equal(p.cubin(t, u), want) {
		t.Errorf("the cubin of %s is not %s", u.name, whose)
	}
}

// noStray fails when something of ours lies in TMPDIR.
func (p *place) noStray(t *testing.T) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(p.tmp, "*gnvcc*")); len(left) > 0 {
		t.Errorf("left in TMPDIR: %v", left)
		for _, path := range left {
			os.RemoveAll(path)
		}
	}
}
