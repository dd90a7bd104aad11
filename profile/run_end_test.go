package profile

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAcceptRest: connections that were made before the program's end are accepted, however late
// the end finds us.
func TestAcceptRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent")
	for range 20 {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		h := &host{}
		r := &run{options: Options{Log: func(string, ...any) {}}, host: h.host(), dir: t.TempDir(),
			conns: map[*net.UnixConn]bool{}}
		const programs = 3
		for range programs { // they say who they are, and are gone
			c, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			f := fake{c}
			f.hello()
			f.send(fBye)
			c.Close()
		}
		accepting := make(chan struct{})
		go func() {
			defer close(accepting)
			r.accept(context.Background(), l)
		}()
		r.acceptRest(l, accepting)
		r.sessions.Wait()
		if len(h.starts) != programs {
			t.Fatalf("%d of %d programs were heard", len(h.starts), programs)
		}
	}
}

// TestTooManyProcesses: a program with more processes than we have descriptors for goes on, all of
// them; those that nobody looks at are not held.
func TestTooManyProcesses(t *testing.T) {
	const processes = 60
	if os.Getenv("GNVCC_TEST_FEW_DESCRIPTORS") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTooManyProcesses$", "-test.v")
		cmd.Env = append(os.Environ(), "GNVCC_TEST_FEW_DESCRIPTORS=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "agent")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	r := &run{options: Options{Log: func(text string, args ...any) { log.WriteString(text) }},
		host: (&host{}).host(), dir: t.TempDir(), conns: map[*net.UnixConn]bool{}}
	var asks []*net.UnixConn
	for range processes { // each waits for an answer
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		fake{c}.hello()
		asks = append(asks, c)
	}
	last, err := os.Open(os.DevNull) // of the descriptors that there are, all but some are taken
	if err != nil {
		t.Fatal(err)
	}
	few := syscall.Rlimit{Cur: uint64(last.Fd()) + 20, Max: uint64(last.Fd()) + 20}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		r.accept(t.Context(), l)
	}()
	select {
	case <-accepting:
	case <-time.After(20 * time.Second):
		t.Fatal("it still waits for more")
	}
	held := 0
	for _, c := range asks {
		c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); os.IsTimeout(err) {
			held++
		}
	}
	if held == 0 || held > 20 || !strings.Contains(log.String(), "no further") {
		t.Errorf("%d processes are still connected; %q", held, log.String())
	}
	r.drop()
	r.sessions.Wait()
}
