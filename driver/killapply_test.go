package driver

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gnvcc/driver/drivertest"
	"gnvcc/install/kits"
)

// TestKillApply ends gnvcc apply by kill -9 at random moments. Whenever that is, each object is
// whole, the old one or the new one; no file of ours stays when the next apply is through; and that
// one does what is left to be done. GNVCC_TESTS=longer: 400 rounds.
func TestKillApply(t *testing.T) {
	kit := drivertest.Toolkit(t, "13.0")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, tmp, bin := t.TempDir(), t.TempDir(), t.TempDir()
	storeDir := filepath.Join(t.TempDir(), "store")
	gnvcc := filepath.Join(bin, "gnvcc")
	if err := os.Symlink(self, gnvcc); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(gnvcc, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GNVCC_NVCC="+filepath.Join(kit, "bin", "nvcc"), "GNVCC_STORE="+
			storeDir,
			"TMPDIR="+tmp, kits.Short(), "GNVCC_STRICT=1", "PATH="+bin+":/usr/bin:/bin")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return cmd
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := command(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("gnvcc %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	const units = 2
	for i := range units {
		text := fmt.Sprintf("__global__ void k%d(float *p) { p[threadIdx.x] *= p[threadIdx.x + %d]; }\n",
			i, i+1)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("k%d.cu", i)), []byte(text),
			0o644); err != nil {
			t.Fatal(err)
		}
		must("-arch=sm_80", "-c", fmt.Sprintf("k%d.cu", i), "-o", fmt.Sprintf("k%d.o", i))
	}
	recipes := []string{"maxnreg=40", "maxnreg=56"}
	objects := map[string][units][]byte{} // by recipe
	for _, r := range recipes {
		if !decideAll(t, storeDir, r) {
			t.Fatal("nothing was noted")
		}
		must("apply")
		objects[r] = readUnits(t, dir)
	}
	random := rand.New(rand.NewPCG(11, uint64(time.Now().UnixNano())))
	rounds := 3
	if kits.Every() {
		rounds = 16
	}
	if kits.Longer() {
		rounds = 400
	}
	killed, between := 0, 0
	longest := 3 * time.Second
	// Moments are drawn from each part of an apply equally often, in any order: few rounds meet all.
	parts := random.Perm(rounds)
	for round := range rounds {
		moment := func(longest time.Duration) time.Duration {
			return time.Duration((float64(parts[round]) + random.Float64()) / float64(rounds) *
				float64(longest))
		}
		want, was := recipes[round%2], recipes[(round+1)%2]
		decideAll(t, storeDir, want)
		begun := time.Now()
		cmd := command("apply")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case <-done:
			longest = time.Since(begun)
		case <-time.After(moment(longest)):
			// Itself alone in every second round: its children go on a while.
			target := cmd.Process.Pid
			if round%4 < 2 {
				target = -target
			}
			syscall.Kill(target, syscall.SIGKILL)
			<-done
			killed++
		}
		now := readUnits(t, dir)
		fresh := 0
		for i := range units {
			switch {
			case alikeBytes(now[i], objects[want][i]):
				fresh++
			case !alikeBytes(now[i], objects[was][i]):
				t.Fatalf("round %d: k%d.o is neither the old one nor the new one", round, i)
			}
		}
		if fresh > 0 && fresh < units {
			between++
		}
		said := must("apply")
		if now = readUnits(t, dir); strings.Contains(said, "left alone") {
			t.Fatalf("round %d: %s", round, said)
		}
		for i := range units {
			if !alikeBytes(now[i], objects[want][i]) {
				t.Fatalf("round %d: the next apply did not do k%d.o again:\n%s", round, i, said)
			}
		}
		if said = must("apply"); !strings.Contains(said, "everything") {
			t.Fatalf("round %d: still pending: %s", round, said)
		}
		entries, _ := os.ReadDir(dir)
		if len(entries) != 2*units {
			t.Fatalf("round %d: %d files in the folder: %v", round, len(entries), entries)
		}
	}
	if killed < rounds/3 {
		t.Errorf("%d of %d were killed: the test tested little", killed, rounds)
	}
	t.Logf("%d rounds, %d killed, %d of them between two objects", rounds, killed, between)
}

func readUnits(t *testing.T, dir string) (out [2][]byte) {
	t.Helper()
	for i := range out {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("k%d.o", i)))
		if err != nil {
			t.Fatal(err)
		}
		out[i] = text
	}
	return out
}

// alikeBytes tells whether two objects are equal, the number of nvcc's process aside.
func alikeBytes(a, b []byte) bool { return steady(a) == steady(b) }
