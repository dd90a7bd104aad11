package profile

import (
	"context"
	"net"
	"path/filepath"
	"testing"
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
		h := &scripted{}
		r := &run{options: Options{Log: func(string, ...any) {}}, decider: h, dir: t.TempDir(),
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
