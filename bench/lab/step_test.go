package lab

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func sh(script string) Step { return Step{Argv: []string{"sh", "-c", script}} }

func TestRun(t *testing.T) {
	s := sh(`echo "$X $(pwd)"; echo err >&2`)
	s.Dir, s.Env = t.TempDir(), []string{"X=5"}
	if r := s.Run(context.Background()); r.Err != nil || r.Stdout != "5 "+s.Dir+"\n" ||
		r.Stderr != "err\n" || r.Wall <= 0 {
		t.Errorf("%+v", r)
	}
	if r := sh("echo 1 >&2; echo 2 >&2; echo; echo 3 >&2; echo why >&2; exit 3").Run(
		context.Background()); r.Err == nil || !strings.HasSuffix(r.Err.Error(),
		"exit status 3: 2 | 3 | why") {
		t.Errorf("%v", r.Err)
	}
	if r := (Step{Argv: []string{"/no/such/program"}}).Run(context.Background()); r.Err == nil ||
		!strings.Contains(r.Err.Error(), "no such file") {
		t.Errorf("%v", r.Err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r := sh("true").Run(ctx); r.Err == nil || !strings.Contains(r.Err.Error(), "not started") {
		t.Errorf("%v", r.Err)
	}
}

// A grandchild that ignores SIGTERM and holds the pipe is ended too.
func TestLimit(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	s := sh("trap '' TERM; (trap '' TERM; sleep 4; touch " + mark + ") & echo started; wait")
	s.Limit = 300 * time.Millisecond
	start := time.Now()
	r := s.Run(context.Background())
	if r.Err == nil || !strings.Contains(r.Err.Error(), "not done after 300ms") ||
		r.Stdout != "started\n" {
		t.Errorf("%+v", r)
	}
	if d := time.Since(start); d > 3500*time.Millisecond {
		t.Errorf("it took %v", d)
	}
	time.Sleep(4200*time.Millisecond - time.Since(start))
	if _, err := os.Stat(mark); err == nil {
		t.Error("the grandchild lived on")
	}
}

func TestLongOutput(t *testing.T) {
	r := sh("head -c 40000000 /dev/zero | tr '\\0' x; echo end").Run(context.Background())
	if r.Err != nil || len(r.Stdout) != most || !strings.HasSuffix(r.Stdout, "xend\n") {
		t.Errorf("%d bytes, %v", len(r.Stdout), r.Err)
	}
}
