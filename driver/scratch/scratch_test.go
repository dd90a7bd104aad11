package scratch

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gnvcc/driver/drivertest"
)

// TestSweep: of what lies in TMPDIR exactly the folders go whose owners were killed.
func TestSweep(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	old := time.Now().Add(-time.Hour)
	age := func(path string) {
		t.Helper()
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	mine, err := New()
	if err != nil {
		t.Fatal(err)
	}
	age(mine.Path)

	// A process that makes a folder with something in it, and is killed.
	cmd := exec.Command(os.Args[0], "-test.run=^TestScratchOwner$")
	cmd.Env = append(os.Environ(), "GNVCC_TEST_SCRATCH_OWNER=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 4096)
	n, _ := out.Read(line)
	theirs := string(line[:n])
	if _, err := os.Stat(filepath.Join(theirs, "deep", "file")); err != nil {
		t.Fatalf("the owner said %q: %v", theirs, err)
	}
	age(theirs)
	if n, err := Sweep(tmp); n != 0 || err != nil {
		t.Errorf("%d folders of living owners removed, %v", n, err)
	}
	cmd.Process.Kill()
	cmd.Wait()

	// What only looks like one of ours.
	outside := filepath.Join(t.TempDir(), "outside")
	drivertest.Write(t, outside, "x")
	mark := filepath.Join(tmp, heldMark+machineMark()+"-")
	stays := []string{mark + "link", mark + "file", mark + "open", mark + "young",
		filepath.Join(tmp, heldMark+"00000000-other"), filepath.Join(tmp, "gnvcc-123")}
	if err := os.Symlink(filepath.Dir(outside), stays[0]); err != nil {
		t.Fatal(err)
	}
	drivertest.Write(t, stays[1], "")
	age(stays[1])
	for _, path := range stays[2:] {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if path != stays[3] {
			age(path)
		}
	}
	if err := os.Chmod(stays[2], 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(theirs, "to outside")); err != nil {
		t.Fatal(err)
	}
	age(theirs)

	if n, err := Sweep(tmp); n != 1 || err != nil {
		t.Errorf("%d folders removed, not 1; %v", n, err)
	}
	if _, err := os.Lstat(theirs); err == nil {
		t.Error("the killed owner's folder is still there")
	}
	for _, path := range append(stays, mine.Path, outside) {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("removed: %v", err)
		}
	}
	path := mine.Path
	mine.Remove()
	mine.Remove()
	if _, err := os.Lstat(path); err == nil {
		t.Error("Remove left it")
	}
}

// TestScratchOwner is the process that TestSweep kills.
func TestScratchOwner(t *testing.T) {
	if os.Getenv("GNVCC_TEST_SCRATCH_OWNER") == "" {
		t.Skip("SKIPPED: TestSweep starts it")
	}
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.Path, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	drivertest.Write(t, filepath.Join(s.Path, "deep", "file"), "x")
	os.Stdout.WriteString(s.Path)
	time.Sleep(time.Minute)
}
