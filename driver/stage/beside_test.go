package stage

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"gnvcc/driver/child"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
)

// TestBeside: a panic beside the tool is an error, which is there as often as it is asked for.
func TestBeside(t *testing.T) {
	s := &stage{}
	wait := s.beside(func() error { panic("of ours") })
	for range 2 {
		if err := wait(); err == nil || !strings.Contains(err.Error(), "of ours") {
			t.Errorf("%v", err)
		}
	}
}

// TestPanicAtWork: whatever happens to us while the user's own step is at work, its end is waited
// for and passed on, and no second one is started.
func TestPanicAtWork(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	tool := drivertest.Program(t, filepath.Join(dir, "tool"),
		"#!/bin/sh\nsleep 0.2\necho done >>'"+out+"'\nexit 3\n")
	s := &stage{tool: tool, words: []string{"tool"}, env: environment.Of(nil), log: zerolog.Nop(),
		watch: child.NewWatch()}
	err := s.guarded(func() error {
		own := s.begin()
		defer own.wait()
		panic("of ours")
	})
	if err == nil || s.result == nil || s.result.Code != 3 {
		t.Errorf("%v, result %+v", err, s.result)
	}
	if text, _ := os.ReadFile(out); string(text) != "done\n" {
		t.Errorf("the tool wrote %q", text)
	}
}

// TestCollectLater: the heap's first collection comes at 16 MB, and later ones when it has doubled,
// as ever: a stage with hundreds of MB does not take five times as many.
func TestCollectLater(t *testing.T) {
	if os.Getenv("GNVCC_TEST_HEAP") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCollectLater$", "-test.v")
		cmd.Env = append(os.Environ(), "GNVCC_TEST_HEAP=1", "GOGC=100")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	collectLater()
	var now runtime.MemStats
	var keep [][]byte
	for range 10 {
		keep = append(keep, make([]byte, 1<<20))
	}
	if runtime.ReadMemStats(&now); now.NumGC != 0 {
		t.Errorf("%d collections up to 10 MB", now.NumGC)
	}
	for now.NumGC == 0 && len(keep) < 100 {
		keep = append(keep, make([]byte, 1<<20))
		runtime.ReadMemStats(&now)
	}
	percent := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	for n := 0; percent() != 100; n++ { // the clean-up comes some time after the collection
		if n == 1000 {
			t.Fatalf("after it, at %d %% more", percent())
		}
		time.Sleep(time.Millisecond)
	}
	runtime.KeepAlive(keep)
}
