package main

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gnvcc/install/kits"
)

// TestNoNetwork: nothing in gnvcc itself can speak with a registry. A build can't wait for one, and
// the start of a process has nothing of HTTP and TLS to make.
func TestNoNetwork(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if path == "net/http" || path == "crypto/tls" || strings.HasPrefix(path, "oras.land/") {
			t.Errorf("gnvcc is linked with %s, which costs each start of it: cmd/gnvcc-oci is for that", path)
		}
	}
	if !strings.Contains(string(out), "gnvcc/cache/remote") {
		t.Error("go list gives no packages of ours")
	}
}

// The program beside gnvcc, made once.
var buildCarrier = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gnvcc-carrier-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", dir, "gnvcc/cmd/gnvcc-oci").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return dir, err
})

// A registry is Debian's docker-registry, on a port of this machine.
type registry struct {
	dir, address string
	cmd          *exec.Cmd
}

// startRegistry starts one with its files in dir.
func startRegistry(t testing.TB, program, dir string, more string) *registry {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &registry{dir: dir, address: l.Addr().String()}
	l.Close()
	config := filepath.Join(t.TempDir(), "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %q}\n%s",
		dir, r.address, more)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.cmd = exec.Command(program, "serve", config)
	r.cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get("http://" + r.address + "/v2/")
		if err == nil {
			resp.Body.Close()
			return r
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("the registry does not answer: %v", err)
		}
	}
}

func (r *registry) stop() {
	if r.cmd != nil {
		r.cmd.Process.Kill()
		r.cmd.Wait()
		r.cmd = nil
	}
}

// htpasswd is a user called user, whose word is secret.
const htpasswd = "user:$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n"

// TestRegistry has recipes go from machine to machine through a real registry, on real nvcc.
func TestRegistry(t *testing.T) {
	kits.Long(t, "cache/remote has TestRound, TestForged and TestSign")
	kit := kits.Any(t)
	program := filepath.Join(debian(t, "docker-registry"), "usr/bin/docker-registry")
	carrier, err := buildCarrier()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(carrier) })
	testscript.Run(t, testscript.Params{
		Dir:       "testdata/registry",
		Condition: kits.Condition,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", e.Getenv("PATH")+string(os.PathListSeparator)+carrier)
			if err := machines(e, kit); err != nil {
				return err
			}
			storage := filepath.Join(e.WorkDir, "registry")
			more := ""
			if strings.HasSuffix(e.WorkDir, "credentials") {
				file := filepath.Join(e.WorkDir, "htpasswd")
				if err := os.WriteFile(file, []byte(htpasswd), 0o600); err != nil {
					return err
				}
				more = "auth: {htpasswd: {realm: test, path: " + file + "}}\n"
			}
			r := startRegistry(t, program, storage, more)
			e.Values["registry"] = r
			e.Defer(r.stop)
			e.Setenv("AT", r.address)
			e.Setenv("STORAGE", storage)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"machine": machine, "measured": measured, "edit": edit,
			"damage": damage, "registry": registryCommand, "quick": quick,
		},
	})
}

// registryCommand: registry stop; registry hang: it takes connections and never answers.
func registryCommand(ts *testscript.TestScript, neg bool, args []string) {
	r := ts.Value("registry").(*registry)
	r.stop()
	if args[0] == "hang" {
		l, err := net.Listen("tcp", r.address)
		ts.Check(err)
		ts.Defer(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				ts.Defer(func() { c.Close() })
			}
		}()
	}
}

// damage flip|cut: every blob of the registry that is a shard and not empty.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	n := 0
	ts.Check(filepath.WalkDir(ts.Getenv("STORAGE"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "data" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || len(b) < 100 || !strings.HasPrefix(string(b), "\x28\xb5\x2f\xfd") {
			return err
		}
		n++
		if args[0] == "cut" {
			return os.Truncate(path, int64(len(b)/2))
		}
		b[len(b)/2] ^= 1
		return os.WriteFile(path, b, 0o600)
	}))
	if n == 0 {
		ts.Fatalf("no shard to damage")
	}
}

// quick SECONDS COMMAND...: it succeeds (with !: fails) in that time.
func quick(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	begun := time.Now()
	err = ts.Exec(args[1], args[2:]...)
	if (err != nil) != neg {
		ts.Fatalf("%v: %v", args[1:], err)
	}
	if took := time.Since(begun); took > limit {
		ts.Fatalf("%v took %v", args[1:], took)
	}
}

// debian unpacks packages of Debian, without installing them, and gives the folder, as if it were
// the root. They are kept beside install/buildtools' programs. Where they can't be had the test is
// skipped, and says so.
func debian(t testing.TB, packages ...string) string {
	t.Helper()
	out, err := exec.Command("../../install/buildtools", "--path").Output()
	if err != nil {
		t.Fatal(err)
	}
	into := filepath.Dir(strings.TrimSpace(string(out)))
	dir := filepath.Join(into, "debian-"+packages[0])
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		t.Skipf("SKIPPED: no folder for packages: %v", err)
	}
	work, err := os.MkdirTemp(into, ".work.")
	if err != nil {
		t.Skipf("SKIPPED: no folder for packages: %v", err)
	}
	defer os.RemoveAll(work)
	run := func(name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Dir = work
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: %s could not be had from Debian: %s: %v\n%s", packages[0], name, err, out)
		}
	}
	run("apt-get", append([]string{"-qq", "download"}, packages...)...)
	debs, _ := filepath.Glob(filepath.Join(work, "*.deb"))
	root := filepath.Join(work, "root")
	for _, deb := range debs {
		run("dpkg-deb", "-x", deb, root)
	}
	if err := os.Rename(root, dir); err != nil && !os.IsExist(err) {
		if _, there := os.Stat(dir); there != nil { // else another test was faster
			t.Skipf("SKIPPED: keep %s: %v", packages[0], err)
		}
	}
	return dir
}
