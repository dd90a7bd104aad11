package driver

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"gnvcc/driver/drivertest"
)

// TestLimits: where Go can't have its threads, or epoll, a build is nvcc's own.
func TestLimits(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root can start a process as a user who has no other")
	}
	for _, tool := range []string{"prlimit", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("SKIPPED: no", tool, "here")
		}
	}
	kit := drivertest.Toolkit(t, "13.0")
	nvcc, gnvcc := both(t, kit, small, "-arch=sm_80", "-cubin", "k.cu", "-o", "k.cubin")
	gnvcc.Env = append(gnvcc.Env, "GNVCC_STRICT=")
	// no root, whose processes are not counted, but one who may read and write all files
	limited := func(most int) []string {
		return []string{"setpriv", "--reuid=54321", "--clear-groups", "--inh-caps=+dac_override",
			"--ambient-caps=+dac_override", "prlimit", fmt.Sprint("--nproc=", most)}
	}
	run := func(what string, c *exec.Cmd, before ...string) {
		t.Helper()
		cubin := filepath.Join(c.Dir, "k.cubin")
		os.Remove(cubin)
		cmd := exec.Command(before[0], append(before[1:], append([]string{c.Path}, c.Args[1:]...)...)...)
		if len(c.Args) > 0 && c == gnvcc { // the test is gnvcc under that name
			cmd = exec.Command(before[0], append(before[1:], append([]string{"sh", "-c",
				`PATH="$1:$PATH"; shift; exec gnvcc "$@"`, "sh", filepath.Dir(named(t))}, c.Args[1:]...)...)...)
		}
		cmd.Dir, cmd.Env = c.Dir, c.Env
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", what, err, out)
			return
		}
		if c == gnvcc {
			want, _ := os.ReadFile(filepath.Join(nvcc.Dir, "k.cubin"))
			if got, err := os.ReadFile(cubin); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %v, %d bytes where nvcc has %d", what, err, len(got), len(want))
			}
		}
	}
	run("nvcc", nvcc, limited(4)...)
	for _, mode := range []string{"a first build", "a second"} {
		for _, most := range []int{4, 7} {
			run(fmt.Sprintf("%s in %d processes", mode, most), gnvcc, limited(most)...)
		}
		run(mode, gnvcc, "env")
	}
	for _, limit := range []string{"--nofile=7", "--as=300000000"} {
		run(limit, gnvcc, "prlimit", limit)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []uintptr{unix.SYS_EPOLL_CREATE1, unix.SYS_EVENTFD2, unix.SYS_PIDFD_OPEN} {
		run(fmt.Sprint("without system call ", number), gnvcc, self, refusedWord, fmt.Sprint(number))
	}
}

// named is a link to this program called gnvcc.
func named(t *testing.T) string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "gnvcc")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return link
}

const refusedWord = "test-refused:"

// withRefused runs a command to which a system call is refused with EPERM.
func withRefused(args []string) error {
	runtime.LockOSThread()
	var number uint32
	fmt.Sscan(args[0], &number)
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	path, err := exec.LookPath(args[1])
	if err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0,
		0); err != nil {
		return err
	}
	return syscall.Exec(path, args[1:], os.Environ())
}

// mayRefuse is a test's command of that kind.
func mayRefuse(args []string) {
	if len(args) > 2 && strings.HasPrefix(args[0], refusedWord) {
		fmt.Fprintln(os.Stderr, withRefused(args[1:]))
		os.Exit(1)
	}
}
