package replay

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gnvcc/profile/capture"
)

// TestKilled: a candidate that hangs does not outlive a gnvcc that is killed, and what is left of
// files is where the next run finds it.
func TestKilled(t *testing.T) {
	for _, way := range []string{"run", "standby"} {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			tmp, scratch := filepath.Join(dir, "tmp"), filepath.Join(dir, "scratch")
			for _, d := range []string{tmp, scratch} {
				if err := os.Mkdir(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestKilledOwner$")
			cmd.Env = append(os.Environ(), "GNVCC_TEST_KILLED="+dir, "GNVCC_TEST_WAY="+way, "TMPDIR="+tmp)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid := 0
			for end := time.Now().Add(20 * time.Second); pid == 0 && time.Now().Before(end); {
				time.Sleep(5 * time.Millisecond)
				text, _ := os.ReadFile(filepath.Join(dir, "pid"))
				pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			}
			if pid == 0 || !lives(pid) {
				t.Fatalf("no replayer: %d", pid)
			}
			cmd.Process.Kill()
			cmd.Wait()
			for end := time.Now().Add(20 * time.Second); lives(pid) && time.Now().Before(end); {
				time.Sleep(5 * time.Millisecond)
			}
			if lives(pid) {
				p, _ := os.FindProcess(pid)
				p.Kill()
				t.Error("the replayer lives on")
			}
			if left, _ := os.ReadDir(tmp); len(left) > 0 {
				t.Errorf("left where nobody looks: %v", left)
			}
			if left, _ := os.ReadDir(scratch); len(left) == 0 {
				t.Error("nothing was left at all: the test shows nothing")
			}
		})
	}
}

// lives tells whether a process runs: one that has ended, and that nobody has waited for, does not.
func lives(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// TestKilledOwner is the gnvcc that TestKilled kills.
func TestKilledOwner(t *testing.T) {
	dir := os.Getenv("GNVCC_TEST_KILLED")
	if dir == "" {
		t.Skip("TestKilled's")
	}
	program := filepath.Join(dir, "replayer")
	script := "#!/bin/sh\necho $$ > " + dir + "/pid.new && mv " + dir + "/pid.new " + dir +
		"/pid && exec sleep 600\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	o := Options{Program: program, Agent: program, Scratch: filepath.Join(dir, "scratch")}
	if os.Getenv("GNVCC_TEST_WAY") == "standby" {
		<-Prepare(context.Background(), o, strings.Repeat("0", 32)).ended
		return
	}
	Run(context.Background(), o, &Unpacked{m: &capture.Manifest{}, dir: dir}, nothing())
}
