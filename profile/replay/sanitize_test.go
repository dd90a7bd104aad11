package replay

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/profile/capture"
)

// asSanitizer is called as compute-sanitizer is, runs the program, and tells what it was given.
const asSanitizer = `#!/bin/sh
[ "$1" = --help ] && { echo "  --initcheck-address-space arg (=global)"; exit 0; }
while [ "${1#--}" != "$1" ]; do
  [ "$1" = --log-file ] && log=$2
  said="$said $1 $2"; shift 2
done
"$@"
echo "========= exit code $? with$said sanitized=$GNVCC_REPLAY_SANITIZED" >"$log"
`

// TestSanitize: the launch is done once, by the replayer itself, and its end is told apart from one
// that it did not come to. Nothing is left.
func TestSanitize(t *testing.T) {
	program, driver := built(t), fakeDriver(t)
	sanitizer := filepath.Join(t.TempDir(), "compute-sanitizer")
	if err := os.WriteFile(sanitizer, []byte(asSanitizer), 0o700); err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	unpacked := func(raw []byte) *Unpacked {
		u := &Unpacked{&capture.Manifest{}, t.TempDir()}
		if err := os.WriteFile(u.file(), packed(t, raw), 0o600); err != nil {
			t.Fatal(err)
		}
		return u
	}
	u := unpacked(agentFile(0x7e0000000000))
	o := Options{Program: program, Scratch: scratch}
	t.Setenv("LD_LIBRARY_PATH", driver)
	launched := filepath.Join(t.TempDir(), "launched")
	t.Setenv("LAUNCHED", launched)
	for tool, want := range map[string]string{"memcheck": "--report-api-errors no",
		"initcheck": "--initcheck-address-space all", "racecheck": "--tool racecheck"} {
		os.Remove(launched)
		text, err := Sanitize(context.Background(), o, u, sanitizer, tool)
		if err != nil || !strings.Contains(text, "exit code 0 ") || !strings.Contains(text, want) ||
			!strings.Contains(text, "sanitized=1") {
			t.Errorf("%s: %v: %s", tool, err, text)
		}
		if lines, err := os.ReadFile(launched); err != nil || strings.Count(string(lines), "\n") < 1 {
			t.Errorf("%s: the launch was not done: %q, %v", tool, lines, err)
		}
	}
	t.Setenv("FAIL", "cuModuleLoadData")
	if text, err := Sanitize(context.Background(), o, u, sanitizer, "memcheck"); err == nil ||
		!strings.Contains(err.Error(), "loading the cubin") || !strings.Contains(text, "exit code 5") {
		t.Errorf("the driver fails: %v: %s", err, text)
	}
	if _, err := Sanitize(context.Background(), o, u, filepath.Join(scratch, "none"),
		"memcheck"); err == nil {
		t.Error("without a compute-sanitizer nothing is said")
	}
	os.WriteFile(sanitizer, []byte("#!/bin/sh\nsleep 60 & sleep 60\n"), 0o700)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := Sanitize(ctx, o, u, sanitizer, "memcheck"); err == nil ||
		!strings.Contains(err.Error(), "did not end") || time.Since(begun) > 20*time.Second {
		t.Errorf("it does not end: %v after %v", err, time.Since(begun))
	}
	if left, _ := os.ReadDir(scratch); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
