package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/install/kits"
)

// tuneScript starts gnvcc tune on a shell script, which says "ready" when it is. wait gives its
// end: its exit code, or minus the signal that ended it.
func tuneScript(t *testing.T, store, script string, before func(cmd *exec.Cmd)) (
	cmd *exec.Cmd, wait func() (int, string)) {
	t.Helper()
	kit := kits.Any(t)
	cmd = exec.Command("gnvcc", "tune", "--", "sh", "-c", script)
	cmd.Env = append(os.Environ(), "GNVCC_NVCC="+kit.Nvcc(), "GNVCC_STORE="+store,
		"TMPDIR="+t.TempDir(), "TERM=dumb", asIfDriver+"=yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if before != nil {
		before(cmd)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	in := bufio.NewReader(out)
	if line, err := in.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the program said %q, %v", line, err)
	}
	return cmd, func() (int, string) {
		t.Helper()
		rest, _ := io.ReadAll(in)
		err := cmd.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
			return -int(s.Signal()), string(rest)
		}
		return cmd.ProcessState.ExitCode(), string(rest)
	}
}

// TestTuneSignals: what ends the program without gnvcc ends it with gnvcc, and nothing else does.
func TestTuneSignals(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	_, wait := tuneScript(t, store, "echo ready", nil) // the agent is built once
	wait()
	closed := func(cmd *exec.Cmd) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd.Stderr = w
	}
	ignoring := func(name string) func(cmd *exec.Cmd) {
		return func(cmd *exec.Cmd) {
			cmd.Args = append([]string{"sh", "-c", fmt.Sprintf(`trap "" %s; exec "$@"`, name), "sh",
				cmd.Path}, cmd.Args[1:]...)
			cmd.Path = "/bin/sh"
		}
	}
	const ignored = "grep SigIgn /proc/$$/status"
	inherited, err := exec.Command("sh", "-c", ignored).Output() // make may have left us something
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		script string
		before func(cmd *exec.Cmd)
		send   []syscall.Signal
		code   int
		out    string
	}{
		"nothing": {"echo ready; exit 5", nil, nil, 5, ""},
		"interrupted": {"echo ready; exec sleep 30", nil, []syscall.Signal{syscall.SIGINT},
			-int(syscall.SIGINT), ""},
		"interrupt is caught": {"trap 'echo caught; exit 6' INT; echo ready; sleep 30 >/dev/null & wait", nil,
			[]syscall.Signal{syscall.SIGINT}, 6, "caught\n"},
		"interrupt ignored": {"echo ready; sleep 2; exit 5", ignoring("INT"),
			[]syscall.Signal{syscall.SIGINT}, 5, ""},
		"ended": {"echo ready; exec sleep 30", nil, []syscall.Signal{syscall.SIGTERM},
			128 + int(syscall.SIGTERM), ""},
		"takes its time": {"trap 'sleep 11; echo saved; exit 7' TERM; echo ready; sleep 40 >/dev/null & wait",
			nil, []syscall.Signal{syscall.SIGTERM}, 7, "saved\n"},
		"nohup": {"echo ready; sleep 2; exit 5", ignoring("HUP"),
			[]syscall.Signal{syscall.SIGHUP}, 5, ""},
		"hangup": {"trap 'exit 8' HUP; echo ready; sleep 30 >/dev/null & wait", nil,
			[]syscall.Signal{syscall.SIGHUP}, 8, ""},
		"the program's own": {"trap 'exit 9' USR1; echo ready; sleep 30 >/dev/null & wait", nil,
			[]syscall.Signal{syscall.SIGUSR1}, 9, ""},
		"nothing is ignored": {"echo ready; " + ignored, nil, nil, 0, string(inherited)},
		"closed stderr":      {"echo ready; sleep 0.3; exit 5", closed, nil, 5, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "hangup" && signal.Ignored(syscall.SIGHUP) {
				t.Skip("SIGHUP is ignored here (nohup), and so by every process that is started")
			}
			if name == "takes its time" {
				kits.Long(t, "it waits for 11 s; another one catches its signal and ends at once")
			}
			t.Parallel()
			cmd, wait := tuneScript(t, store, c.script, c.before)
			for _, s := range c.send {
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			if code, out := wait(); code != c.code || out != c.out {
				t.Errorf("ended with %d, said %q; want %d, %q", code, out, c.code, c.out)
			}
		})
	}
}

// TestTuneCutShort: an interrupt after the program's end ends what is left, and us by that signal;
// what was found reaches the store, also where somebody else has that for a moment.
func TestTuneCutShort(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	gone := filepath.Join(t.TempDir(), "gone")
	cmd, wait := tuneScript(t, dir, "echo ready; while [ ! -e "+gone+" ]; do sleep 0.05; done; echo gone",
		nil)
	store, err := cache.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := store.Own(context.Background()) // the end of the run waits for it
	if err != nil {
		t.Fatal(err)
	}
	d := cache.Decision{Identity: "k", Recipe: "maxnreg=40", Time: time.Now()}
	if err := store.Spool(cache.Decisions, d.Key(), d); err != nil { // as the run would
		t.Fatal(err)
	}
	if err := os.WriteFile(gone, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond) // the program ends
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal("it has not waited for the store:", err)
	}
	time.Sleep(200 * time.Millisecond)
	owner.Close()
	if code, out := wait(); code != -int(syscall.SIGINT) || out != "gone\n" {
		t.Errorf("ended with %d, said %q; want by the signal", code, out)
	}
	sn, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	if all, err := sn.AllDecisions(); err != nil || len(all) != 1 {
		t.Errorf("%d decisions were published, %v", len(all), err)
	}
}

// TestTuneKilled: what kill -9 leaves in TMPDIR, the next run removes.
func TestTuneKilled(t *testing.T) {
	var tmp string
	store := filepath.Join(t.TempDir(), "store")
	cmd, wait := tuneScript(t, store, "echo ready; exec sleep 30", func(cmd *exec.Cmd) {
		for _, v := range cmd.Env {
			if dir, ok := strings.CutPrefix(v, "TMPDIR="); ok {
				tmp = dir
			}
		}
	})
	cmd.Process.Kill()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	wait()
	left, _ := filepath.Glob(filepath.Join(tmp, "*"))
	if len(left) == 0 {
		t.Fatal("nothing was left: the test shows nothing")
	}
	old := time.Now().Add(-time.Hour)
	for _, dir := range left {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	_, wait = tuneScript(t, store, "echo ready", func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
	})
	if code, _ := wait(); code != 0 {
		t.Errorf("ended with %d", code)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
