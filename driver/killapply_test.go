package driver

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gnvcc/cache"
)

// TestKillApply ends gnvcc apply by kill -9 at random moments. Whenever that is, each object is whole, the old one or
// the new one; no file of ours stays when the next apply is through; and that one does what is left to be done.
// GNVCC_LONG=1: 400 rounds.
func TestKillApply(t *testing.T) {
	kit := toolkit(t, "13.0")
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
		cmd.Env = append(os.Environ(), "GNVCC_NVCC="+filepath.Join(kit, "bin", "nvcc"), "GNVCC_STORE="+storeDir,
			"TMPDIR="+tmp, "GNVCC_STRICT=1", "PATH="+bin+":/usr/bin:/bin")
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
		text := fmt.Sprintf("__global__ void k%d(float *p) { p[threadIdx.x] *= p[threadIdx.x + %d]; }\n", i, i+1)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("k%d.cu", i)), []byte(text), 0o644); err != nil {
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
	rounds := 30
	if os.Getenv("GNVCC_LONG") != "" {
		rounds = 400
	}
	killed, between := 0, 0
	longest := 3 * time.Second
	for round := range rounds {
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
		case <-time.After(time.Duration(random.Int64N(int64(longest)))):
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
			case equalOutputs(now[i], objects[want][i]):
				fresh++
			case !equalOutputs(now[i], objects[was][i]):
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
			if !equalOutputs(now[i], objects[want][i]) {
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

// TestPlacing kills nothing, and goes through the states in which a kill may leave a placing.
func TestPlacing(t *testing.T) {
	store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, temp := filepath.Join(dir, "k.o"), filepath.Join(dir, ".k.o.gnvcc-1")
	unlock, err := lockApply(context.Background(), store, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	hash := func(s string) string { return cache.Hash([]byte(s)) }
	for _, c := range []struct {
		name          string
		at, beside    string // contents, "" for no file
		want          string
		noteIsARecord bool
	}{
		{"before the copy", "old", "", "old", false},
		{"a torn copy", "old", "ne", "old", false},
		{"before the exchange", "old", "new", "old", false},
		{"before the record", "new", "old", "new", true},
		{"after a build's exchange", "new", "built meanwhile", "built meanwhile", false},
		{"a build came after", "built meanwhile", "old", "built meanwhile", false},
		{"deleted meanwhile", "", "old", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			os.Remove(path)
			os.Remove(temp)
			for name, text := range map[string]string{path: c.at, temp: c.beside} {
				if text != "" {
					if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			key := hash(c.name)
			p := placing{Command: hash("command"), Files: []placedFile{{path, temp, hash("old"), hash("new")}},
				Notes: []heldNote{{Key: key, MemoKey: key, Assembly: cache.Assembly{Command: "x", Cubin: key}}}}
			if err := p.write(store); err != nil {
				t.Fatal(err)
			}
			recoverApply(store)
			if got, _ := os.ReadFile(path); !bytes.Equal(got, []byte(c.want)) {
				t.Errorf("%q, not %q", got, c.want)
			}
			if _, err := os.Lstat(temp); err == nil {
				t.Error("the file beside is still there")
			}
			if len(unfinished(store)) > 0 {
				t.Error("the record is still there")
			}
			if _, ok := memoNoted.Get(store, key); ok != c.noteIsARecord {
				t.Errorf("noted: %v", ok)
			}
		})
	}
}

// TestExchange: a file that was written after it was looked at stays.
func TestExchange(t *testing.T) {
	dir := t.TempDir()
	path, temp := filepath.Join(dir, "k.o"), filepath.Join(dir, "new")
	os.WriteFile(path, []byte("written meanwhile"), 0o644)
	os.WriteFile(temp, []byte("new"), 0o644)
	f := placedFile{path, temp, cache.Hash([]byte("old")), cache.Hash([]byte("new"))}
	if err := f.exchange(); err == nil {
		t.Error("it was replaced")
	}
	if got, _ := os.ReadFile(path); string(got) != "written meanwhile" {
		t.Errorf("%q", got)
	}
}

// TestSwap exchanges two files, in one step and without.
func TestSwap(t *testing.T) {
	for name, how := range map[string]func(a, b string) error{"swap": swap, "slowly": swapSlowly} {
		dir := t.TempDir()
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		os.WriteFile(a, []byte("a"), 0o644)
		os.WriteFile(b, []byte("b"), 0o644)
		if err := how(a, b); err != nil {
			t.Fatal(name, err)
		}
		atA, _ := os.ReadFile(a)
		atB, _ := os.ReadFile(b)
		entries, _ := os.ReadDir(dir)
		if string(atA) != "b" || string(atB) != "a" || len(entries) != 2 {
			t.Errorf("%s: %q %q %v", name, atA, atB, entries)
		}
	}
}
