package driver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"gnvcc/driver/drivertest"
)

// How things end: tools that fail or die, and signals from outside. Each is done with nvcc and with
// gnvcc, and compared.

// An outcome is what a user sees of a command.
type outcome struct {
	Code   int
	Signal syscall.Signal
	Stdout string
	Stderr string
}

var temporaryPath = regexp.MustCompile(`tmpxft_[0-9a-f]+_[0-9a-f]+-[0-9]+`)

func (o outcome) String() string {
	return fmt.Sprintf("exit code %d, signal %d\n-- stdout\n%s-- stderr\n%s", o.Code, o.Signal,
		temporaryPath.ReplaceAllString(o.Stdout, "tmpxft"), temporaryPath.ReplaceAllString(o.Stderr,
			"tmpxft"))
}

// see runs a command; after is called while it runs.
func see(t *testing.T, cmd *exec.Cmd, after func(p *os.Process)) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if after != nil {
		after(cmd.Process)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	o := outcome{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
	if status.Signaled() {
		o.Signal = status.Signal()
	}
	return o
}

// replaced makes a toolkit one of whose tools is a shell script.
func replaced(t *testing.T, kit, tool, script string) string {
	t.Helper()
	shadow := filepath.Join(t.TempDir(), "kit")
	if err := drivertest.ShadowOf(kit, shadow, filepath.Join(t.TempDir(), "calls")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(shadow, tool), []byte("#!/bin/sh\n"+script+"\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	return shadow
}

// both gives the same command with nvcc and with gnvcc, in folders and with temporary folders of
// their own.
func both(t *testing.T, kit string, files map[string]string,
	args ...string) (nvcc, gnvcc *exec.Cmd) {
	t.Helper()
	p := drivertest.NewProject(t, "13.0", files)
	nvcc = exec.Command(filepath.Join(kit, "bin/nvcc"), args...)
	nvcc.Dir, nvcc.Env = p.Dir, append(os.Environ(), "TMPDIR="+t.TempDir())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	gnvcc = exec.Command(self, args...)
	gnvcc.Args[0] = "gnvcc"
	gnvcc.Dir, gnvcc.Env = p.Dir, append(p.Env, "GNVCC_NVCC="+filepath.Join(kit, "bin/nvcc"))
	return nvcc, gnvcc
}

var small = map[string]string{"k.ptx": ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n", "k.cu": "__global__ void k() {}\n"}

// TestDyingTools has ptxas and cicc die in all ways.
func TestDyingTools(t *testing.T) {
	kit := drivertest.Toolkit(t, "13.0")
	for _, tool := range []string{"bin/ptxas", "nvvm/bin/cicc"} {
		args := []string{"-arch=sm_80", "--cubin", "k.ptx", "-o", "k.cubin"}
		if tool != "bin/ptxas" {
			args = []string{"-arch=sm_80", "-ptx", "k.cu", "-o", "k2.ptx"}
		}
		for i, how := range []string{"kill -SEGV $$", "kill -ABRT $$", "kill -KILL $$", "kill -TERM $$", "kill -INT $$", "kill -PIPE $$", "echo said; echo wrong >&2; exit 42", "exit 255"} {
			t.Run(fmt.Sprint(filepath.Base(tool), i), func(t *testing.T) {
				// --version is asked for by us only.
				script := `case "$1" in --version) echo V1.2.3; exit;; esac` + "\nulimit -c 0\n" + how
				a, b := both(t, replaced(t, kit, tool, script), small, args...)
				want, got := see(t, a, nil), see(t, b, nil)
				if want.String() != got.String() {
					t.Errorf("%s: nvcc: %s\ngnvcc: %s", how, want, got)
				}
			})
		}
	}
}

// TestMissingTools takes a tool away.
func TestMissingTools(t *testing.T) {
	kit := drivertest.Toolkit(t, "13.0")
	for _, tool := range []string{"bin/ptxas", "nvvm/bin/cicc"} {
		shadow := replaced(t, kit, tool, "")
		if err := os.Remove(filepath.Join(shadow, tool)); err != nil {
			t.Fatal(err)
		}
		a, b := both(t, shadow, small, "-arch=sm_80", "--cubin", "k.cu", "-o", "k.cubin")
		a.Env, b.Env = append(a.Env, "PATH=/usr/bin:/bin"), append(b.Env, "PATH=/usr/bin:/bin")
		want, got := see(t, a, nil), see(t, b, nil)
		if want.String() != got.String() || want.Code == 0 {
			t.Errorf("%s: nvcc: %s\ngnvcc: %s", tool, want, got)
		}
	}
}

// TestSignals sends signals to the process group while a tool runs: a Ctrl-C, a build system that
// ends its children.
func TestSignals(t *testing.T) {
	kit := drivertest.Toolkit(t, "13.0")
	for _, tool := range []string{"bin/ptxas", "nvvm/bin/cicc"} {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			t.Run(fmt.Sprint(filepath.Base(tool), int(sig)), func(t *testing.T) {
				if signal.Ignored(sig) {
					t.Skipf("%v is ignored here (nohup?), and so by every process that this one starts", sig)
				}
				started := filepath.Join(t.TempDir(), "started")
				script := `case "$1" in --version) echo V1.2.3; exit;; esac` + "\n: >'" + started + "'\nexec sleep 20"
				a, b := both(t, replaced(t, kit, tool, script), small, "-arch=sm_80", "--cubin", "k.cu", "-o", "k.cubin")
				kill := func(p *os.Process) {
					for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
						time.Sleep(5 * time.Millisecond)
						if _, err := os.Stat(started); err == nil {
							break
						}
					}
					os.Remove(started)
					time.Sleep(50 * time.Millisecond) // the sleep is to be there
					syscall.Kill(-p.Pid, sig)
				}
				want, got := see(t, a, kill), see(t, b, kill)
				if want.String() != got.String() {
					t.Errorf("nvcc: %s\ngnvcc: %s", want, got)
				}
				noStray(t, b)
			})
		}
	}
}

// noStray fails when a file of ours is left in the command's TMPDIR.
func noStray(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	for _, setting := range cmd.Env {
		if dir, ok := strings.CutPrefix(setting, "TMPDIR="); ok {
			left, _ := filepath.Glob(filepath.Join(dir, "*gnvcc*"))
			if len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		}
	}
}

// TestSignalToStage kills the stage alone: the tool must not outlive it, and what it was asked for
// ends as nvcc's would.
func TestSignalToStage(t *testing.T) {
	kit := drivertest.Toolkit(t, "13.0")
	pidFile := filepath.Join(t.TempDir(), "pid")
	script := `case "$1" in --version) echo V1.2.3; exit;; esac` + "\necho $$ $PPID >'" + pidFile + ".new'; mv '" + pidFile + ".new' '" + pidFile + "'\nexec sleep 20"
	_, b := both(t, replaced(t, kit, "bin/ptxas", script), small, "-arch=sm_80", "--cubin", "k.ptx", "-o", "k.cubin")
	var tool, stage int
	got := see(t, b, func(*os.Process) {
		for range 4000 {
			if text, err := os.ReadFile(pidFile); err == nil {
				fmt.Sscan(string(text), &tool, &stage)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		syscall.Kill(stage, syscall.SIGKILL)
	})
	if tool == 0 || got.Code != 137 {
		t.Errorf("tool %d, %s", tool, got)
	}
	for range 200 {
		if syscall.Kill(tool, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the tool goes on without its stage")
	syscall.Kill(tool, syscall.SIGKILL)
}
