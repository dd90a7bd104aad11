package accidents

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/drivertest"
	"gnvcc/install/kits"
)

// Many at once: make -j64, while decisions are published all the time.

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.add(t, rounds(24, 500))
	stop := p.publishing(t)
	first := p.make(t, 64, gnvcc, "cubin")
	for _, u := range p.units {
		if !bytes.Equal(p.cubin(t, u), u.nvcc) {
			t.Errorf("%s: not nvcc's cubin", u.name)
		}
	}
	published := stop()

	// Half of them get a recipe, half of these one for the source.
	for i, u := range p.units {
		u.recipe = []string{"", "maxnreg=32", "", "unroll=2"}[i%4]
	}
	ids := p.decide(t)
	if len(ids) != len(p.units) {
		t.Errorf("%d records of %d builds", len(ids), len(p.units))
	}
	// Nothing that the stages know from before, so that 64 of them compile and write at the same time.
	for _, kind := range []string{"build", "variant", "standard", "noted"} {
		ok(t, os.RemoveAll(filepath.Join(p.store, "memo", kind)))
	}
	for _, u := range p.units {
		ok(t, os.Remove(filepath.Join(p.dir, u.name+".cubin")))
	}
	stop = p.publishing(t)
	second := p.make(t, 64, gnvcc, "cubin")
	published += stop()
	for _, u := range p.units {
		want := u.nvcc
		if u.recipe != "" {
			want = u.tuned
		}
		if !bytes.Equal(p.cubin(t, u), want) {
			t.Errorf("%s, recipe %q: not its cubin", u.name, u.recipe)
		}
	}
	p.noStray(t)
	s, err := cache.Open(p.store)
	ok(t, err)
	if n := len(p.identities(t, s)); n != len(p.units) {
		t.Errorf("%d kernels are known, %d were built", n, len(p.units))
	}
	if bad, _ := filepath.Glob(filepath.Join(p.store, "spool", "*.bad")); len(bad) > 0 {
		t.Errorf("torn spool files: %v", bad)
	}
	if published < len(p.units) {
		t.Errorf("only %d decisions were published meanwhile: the test tested nothing", published)
	}
	t.Logf("%d units, -j64: %v, and %v with recipes; %d decisions published meanwhile", len(p.units),
		first, second, published)
}

// TestNobodyWaits holds the store's lock as long as builds run. They must not notice.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.add(t, 2)
	s, err := cache.Open(p.store)
	ok(t, err)
	o, err := s.Own(t.Context())
	ok(t, err)
	defer o.Close()
	p.make(t, 1, gnvcc, "cubin")
	for _, u := range p.units {
		p.buildIs(t, u, false)
	}
	n, err := o.Merge()
	if err != nil || n < len(p.units) {
		t.Errorf("%d records of %d builds came to the owner: %v", n, len(p.units), err)
	}
}

// shadow makes a toolkit of links into another one, in which one tool is a script; %[1]s in it
// stands for that one's tool.
func shadow(t *testing.T, kit, tool, script string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "kit")
	ok(t, drivertest.Shadow(kit, root, map[string]string{tool: script}))
	return root
}

// TestJobserver looks at what reaches ptxas under make -j, in both kinds of jobserver that make
// has: its variable and the descriptors that it names. And no token is missing afterwards: make
// would say so, and make counts them.
func TestJobserver(t *testing.T) {
	kits.Long(t, "TestTokens builds under make -j")
	t.Parallel()
	p := newPlace(t)
	seen := filepath.Join(p.dir, "seen")
	root := shadow(t, kit, "bin/ptxas", `case "$1" in --version) exec %[1]s --version;; esac
echo "$MAKEFLAGS" >>'`+seen+`'
for fd in $(echo "$MAKEFLAGS" | sed -n 's/.*--jobserver-[a-z]*=\([0-9]*\),\([0-9]*\).*/\1 \2/p'); do readlink /proc/self/fd/$fd >>'`+seen+`' || echo "no descriptor $fd" >>'`+seen+`'; done
exec %[1]s "$@"`)
	// Objects need all of cuda_runtime.h.
	p.env = append(p.env, "GNVCC_NVCC="+filepath.Join(root, "bin/nvcc"), "NVCC_PREPEND_FLAGS=")
	p.add(t, 3)
	look := func(nvcc string) string {
		os.Remove(seen)
		makefile := "all: u0.o u1.o u2.o\n%.o: %.cu\n\t+@$(NVCC) -arch=sm_80 -c -o $@ $<\n"
		ok(t, os.WriteFile(filepath.Join(p.dir, "jobs.mk"), []byte(makefile), 0o644))
		cmd := exec.Command("make", "-B", "-s", "-j3", "-f", "jobs.mk", "NVCC="+nvcc)
		cmd.Dir, cmd.Env = p.dir, p.env
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("make with %s: %v\n%s", nvcc, err, out)
		}
		text, err := os.ReadFile(seen)
		ok(t, err)
		if !strings.Contains(string(text), "--jobserver-") || strings.Contains(string(text),
			"no descriptor") || !strings.Contains(string(text), "pipe:") {
			t.Errorf("with %s: no jobserver in\n%s", nvcc, text)
		}
		return string(text)
	}
	look(filepath.Join(root, "bin/nvcc"))
	look(gnvcc)         // the stage runs ptxas as a child
	text := look(gnvcc) // the stage becomes ptxas
	if strings.Contains(text, "GNVCC") {
		t.Errorf("MAKEFLAGS changed: %s", text)
	}

	// Our own tokens: a pipe of three, which has to have three afterwards.
	r, w, err := os.Pipe()
	ok(t, err)
	defer r.Close()
	_, err = w.WriteString("+++")
	ok(t, err)
	for _, u := range p.units {
		cmd := p.command(u)
		cmd.ExtraFiles = []*os.File{r, w} // 3 and 4
		cmd.Env = append(cmd.Env, "MAKEFLAGS= -j4 --jobserver-auth=3,4")
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v\n%s", err, out)
		}
	}
	ok(t, w.Close())
	ok(t, r.SetReadDeadline(time.Now().Add(5*time.Second)))
	tokens := make([]byte, 10)
	if n, err := r.Read(tokens); err != nil || string(tokens[:n]) != "+++" {
		t.Errorf("the tokens are %q: %v", tokens[:n], err)
	}
}
