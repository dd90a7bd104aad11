package replay

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnotherDevice: a capture is replayed on its own GPU, or on one of its model, and is refused
// elsewhere, with the reason.
func TestAnotherDevice(t *testing.T) {
	program, dir := built(t), fakeDriver(t)
	whole := file(t, 0x7e0000000000)
	own := append(str("GPU"), make([]byte, 16)...)
	if bytes.Count(whole, own) != 1 {
		t.Fatal("where is the device?")
	}
	for _, c := range []struct {
		name  string
		uuid  byte
		taken bool
	}{{"GPU", 0, true}, {"XPU", 0, true}, {"XPU", 1, false}} {
		other := append(str(c.name), bytes.Repeat([]byte{c.uuid}, 16)...)
		content, status := filepath.Join(t.TempDir(), "capture"), filepath.Join(t.TempDir(), "status")
		if err := os.WriteFile(content, bytes.Replace(whole, own, other, 1), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, content, status)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir)
		cmd.Run()
		text, _ := os.ReadFile(status)
		code := cmd.ProcessState.ExitCode()
		if c.taken != (code == 0) || !c.taken && (code != 3 ||
			!strings.Contains(string(text), "the capture is of another device (XPU)")) {
			t.Errorf("%+v: exit code %d\n%s", c, code, text)
		}
	}
}
