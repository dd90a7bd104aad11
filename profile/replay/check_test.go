package replay

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/profile"
)

// TestCheck: a launch that leaves something else than in the program is done five times. Where it never leaves the
// same, it goes on if that is wanted; where a part of what is not the program's stays the same, the fault is
// the replay's.
func TestCheck(t *testing.T) {
	program, dir := built(t), fakeDriver(t)
	const base = 0x7e0000000000
	// two MiB of memory, of which the program left other hashes than 0 in the first (one), or in both
	for name, c := range map[string]struct {
		was, differs string // by chunk: what the program left; how many differ each time
		launches     string
		code         int
		says         string
	}{
		"the same":                {"00", "0", "+1", 0, "same\n"},
		"another, always":         {"01", "0", "+1", 4, "\nunlike 1 of 2 MiB that the launch wrote are the same in 5 replays, and not as in the program, the first of them device memory at 0x7e0000100000"},
		"another each time":       {"10", "1", "+1", 0, "unsteady 1 of 2 MiB that the launch wrote differ from run to run, the first of them device memory at 0x7e0000000000\n"},
		"so, and not wanted":      {"10", "1", "1", 4, "results differ from run to run with nvcc's own code"},
		"a part of it, each time": {"11", "1", "+1", 4, "\nunlike 1 of 2 MiB"},
	} {
		var sums []byte
		for _, x := range c.was {
			sums = append(sums, bytes.Repeat([]byte{byte(x-'0') * 0xee}, 16)...)
		}
		raw := bytes.Join([][]byte{record(1, kernelRecord(base, 49152, 0xffffffff, 0, 255)...),
			record(3, u64(base), u64(2<<20), u32(0)), record(6, str(""), u64(base), sums), record(7)}, nil)
		content, status := filepath.Join(t.TempDir(), "capture"), filepath.Join(t.TempDir(), "status")
		if err := os.WriteFile(content, packed(t, raw), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, content, status, c.launches)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "DIFFERS="+c.differs)
		cmd.Run()
		text, _ := os.ReadFile(status)
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(text), c.says) ||
			(code == 0) != strings.Contains(string(text), "launched 1\n") {
			t.Errorf("%s: exit code %d\n%s", name, code, text)
		}
	}
}

// TestHostUnsteady: launches of the replayer's check are not searched; the one behind them is, and has what was
// found.
func TestHostUnsteady(t *testing.T) {
	found := []string{}
	v := nothing()
	v.Search = func(_ context.Context, l *profile.Launch, _ profile.Session) bool {
		found = append(found, l.Unsteady)
		return false
	}
	w := hosting(v)
	status := filepath.Join(t.TempDir(), "status")
	w.enough = status + ".enough"
	for _, line := range []string{"", "over 1 hash\n", "over 2 repeat\n", "unsteady so\n"} {
		f, err := os.OpenFile(status, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(line)
		f.Close()
		w.launch(t.Context(), launchOf("k"), profile.Held{Session: func(_ time.Duration, use func(profile.Session)) error {
			use(&times{warm: 1, cold: 1})
			return nil
		}})
	}
	if len(found) != 1 || found[0] != "so" {
		t.Errorf("searched: %q", found)
	}
}

// TestUnlike: a fault of the replay is told from a capture that can't be replayed.
func TestUnlike(t *testing.T) {
	_, err := Outcome{Reason: "1 of 2 MiB", unlike: true}.judged(time.Now())
	if !errors.Is(err, ErrUnlike) || !errors.Is(err, ErrRefused) || !strings.HasSuffix(err.Error(), "a fault of gnvcc's: 1 of 2 MiB") {
		t.Error(err)
	}
	if _, err = (Outcome{Reason: "no addresses"}).judged(time.Now()); errors.Is(err, ErrUnlike) || !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if _, err = (Outcome{Unsteady: "1 of 2 MiB"}).judged(time.Now()); err != nil {
		t.Error(err)
	}
}
