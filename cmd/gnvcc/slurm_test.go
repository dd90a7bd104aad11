package main

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gnvcc/install/kits"
)

// A cluster is Debian's Slurm with one node and two GPUs, which are made up: devices that Slurm
// hands out and nobody opens.
type cluster struct {
	bin, conf  string // folder of the commands; slurm.conf
	controller *exec.Cmd
}

const slurmConf = `ClusterName=ci
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[2]d
SlurmdPort=%[3]d
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=%[4]s/sock/munge.sock
PluginDir=%[5]s
StateSaveLocation=%[4]s/state
SlurmdSpoolDir=%[4]s/spool
SlurmctldPidFile=%[4]s/ctld.pid
SlurmdPidFile=%[4]s/slurmd.pid
SlurmctldLogFile=%[4]s/ctld.log
SlurmdLogFile=%[4]s/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,defer_batch
MessageTimeout=2
ReturnToService=2
MpiDefault=none
GresTypes=gpu
MailProg=/bin/true
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 Gres=gpu:fake:2 State=UNKNOWN
PartitionName=gpu Nodes=%[1]s Default=YES MaxTime=INFINITE State=UP
`

func startCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: Slurm's daemons want root")
	}
	root := debian(t, "slurm-client", "slurmctld", "slurmd", "slurm-wlm-basic-plugins", "munge",
		"libmunge2", "libhwloc15", "liblua5.1-0")
	// a short path: of a socket it may have 108 bytes
	dir, err := os.MkdirTemp("", "slurm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o711)
	for name, mode := range map[string]os.FileMode{"munge": 0o700, "spool": 0o700, "state": 0o700,
		"sock": 0o711, "bin": 0o700} {
		os.Mkdir(filepath.Join(dir, name), mode)
		os.Chmod(filepath.Join(dir, name), mode)
	}
	key := make([]byte, 128)
	rand.Read(key)
	os.WriteFile(filepath.Join(dir, "munge", "key"), key, 0o400)
	for i := range 2 {
		if err := syscall.Mknod(filepath.Join(dir, fmt.Sprint("nv", i)), syscall.S_IFCHR|0o666,
			1<<8|3); err != nil {
			t.Skipf("SKIPPED: no made-up GPU: %v", err)
		}
	}
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	lib := filepath.Join(root, "usr/lib/x86_64-linux-gnu")
	plugins := filepath.Join(lib, "slurm-wlm")
	c := &cluster{bin: filepath.Join(dir, "bin"), conf: filepath.Join(dir, "slurm.conf")}
	os.WriteFile(c.conf, fmt.Appendf(nil, slurmConf, host, freePort(t), freePort(t), dir, plugins),
		0o600)
	os.WriteFile(filepath.Join(dir, "gres.conf"),
		fmt.Appendf(nil, "NodeName=%s Name=gpu Type=fake File=%s/nv[0-1]\n", host, dir), 0o600)
	libraries := "LD_LIBRARY_PATH=" + lib + ":" + plugins
	for _, name := range []string{"salloc", "srun", "sinfo"} {
		os.WriteFile(filepath.Join(c.bin, name), []byte("#!/bin/sh\n"+libraries+" SLURM_CONF="+c.conf+
			" exec "+filepath.Join(root, "usr/bin", name)+" \"$@\"\n"), 0o700)
	}
	start := func(name string, args ...string) *exec.Cmd {
		// Under other names than these the daemons know no GPUs.
		link := filepath.Join(dir, name)
		os.Symlink(filepath.Join(root, "usr/sbin", map[string]string{"slurmctld": "slurmctld-wlm",
			"slurmd": "slurmd-wlm", "munged": "munged"}[name]), link)
		cmd := exec.Command(link, args...)
		cmd.Env = append(os.Environ(), libraries, "SLURM_CONF="+c.conf)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd
	}
	munge := filepath.Join(dir, "munge")
	start("munged", "--foreground", "--force", "--key-file="+munge+"/key",
		"--socket="+dir+"/sock/munge.sock", "--pid-file="+munge+"/pid", "--log-file="+munge+"/log",
		"--seed-file="+munge+"/seed")
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(dir + "/sock/munge.sock"); err == nil {
			break
		}
	}
	c.controller = start("slurmctld", "-D", "-f", c.conf)
	start("slurmd", "-D", "-f", c.conf, "-d", filepath.Join(root, "usr/sbin/slurmstepd-wlm"))
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		out, _ := exec.Command(filepath.Join(c.bin, "sinfo"), "-h", "-o", "%T").CombinedOutput()
		if strings.TrimSpace(string(out)) == "idle" {
			return c
		}
		if time.Since(begun) > 60*time.Second {
			log, _ := os.ReadFile(filepath.Join(dir, "ctld.log"))
			t.Fatalf("Slurm's node is not idle but %s\n%s", out, log)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestSlurm: steps of one allocation decide what one process does, with a step that is killed and
// one that writes nonsense; with a controller that is stopped in between; and without any.
func TestSlurm(t *testing.T) {
	kits.Long(t, "TestWork has workers, on this machine")
	w := newWorkers(t)
	c := startCluster(t)
	w.env = append(w.env, "PATH="+c.bin+":"+os.Getenv("PATH"))
	on := "slurm:n=2,partition=gpu"
	old := w.env
	w.env = append(w.env[:len(w.env):len(w.env)],
		"TEST_WORK_TROUBLE="+filepath.Join(w.dir, "trouble"))
	w.fresh()
	said, err := w.replay("--on", on)
	w.env = old
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	w.alike("two steps", said)
	if !strings.Contains(said, "3 kernels for 2 workers") || strings.Contains(said, "on this machine") ||
		!strings.Contains(said, "worker was lost") {
		t.Errorf("said:\n%s", said)
	}
	if left, _ := filepath.Glob(filepath.Join(w.store, "orders-*")); len(left) > 0 {
		t.Errorf("%v are left in the store", left)
	}

	if !kits.Longer() {
		t.Log("GNVCC_TESTS=longer also stops the controller")
		return
	}
	w.fresh()
	cmd := w.command(w.exe, "tune", "--levers", "hint", "--budget", "900", "--on", on)
	watch := &stopper{at: "worker 1 searches", then: func() { c.controller.Process.Kill() }}
	cmd.Stdout, cmd.Stderr = watch, watch
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, watch.text.String())
	}
	w.alike("a controller that is gone", watch.text.String())
	if watch.then != nil {
		t.Errorf("the controller was not stopped:\n%s", watch.text.String())
	}

	w.fresh()
	said, err = w.replay("--on", on) // nobody answers
	if err != nil || !strings.Contains(said, "the search is done on this machine") {
		t.Errorf("without a controller: %v\n%s", err, said)
	}
	w.alike("without a controller", said)
}

// A stopper does something when it reads a text.
type stopper struct {
	text strings.Builder
	at   string
	then func()
}

func (s *stopper) Write(b []byte) (int, error) {
	s.text.Write(b)
	if s.then != nil && strings.Contains(s.text.String(), s.at) {
		s.then()
		s.then = nil
	}
	return len(b), nil
}
