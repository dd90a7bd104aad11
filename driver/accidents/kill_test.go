package accidents

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gnvcc/install/kits"
)

// kill -9 and signals at random moments.

// decided makes a place with six units that were built, four of them with recipes.
func decided(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.add(t, 6)
	for i, u := range p.units {
		u.recipe = []string{"", "maxnreg=32", "unroll=2", "maxnreg=40 unroll=2", "", "hint@ld=L2::256B"}[i]
	}
	p.make(t, 2, gnvcc, "cubin")
	p.decide(t)
	return p
}

// forget takes away what the stages know from before, so that the next build works for its result.
func (p *place) forget(t *testing.T, random *rand.Rand) {
	t.Helper()
	for _, kind := range []string{"build", "variant", "standard", "noted", "manner", "target"} {
		if random.IntN(2) == 0 {
			// The players and remains of killed builds may write there meanwhile.
			os.RemoveAll(filepath.Join(p.store, "memo", kind))
		}
	}
}

// gone waits until no process of a group is left.
func gone(t *testing.T, group int) {
	t.Helper()
	for range 1000 {
		if syscall.Kill(-group, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("processes of group %d go on", group)
}

// late tells that -timeout is near: a long run says how far it came in place of being cut off.
func late(t *testing.T) bool {
	end, limited := t.Deadline()
	return limited && time.Until(end) < time.Minute
}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(17, uint64(time.Now().UnixNano()))) }

// TestKill ends builds by SIGKILL at random moments, while decisions are published: the next build is
// right, nothing of the store is damaged, and no process stays.
func TestKill(t *testing.T) {
	t.Parallel()
	p := decided(t)
	p.make(t, 2, filepath.Join(kit, "bin/nvcc"), "ptx")
	random := seeded()
	n := rounds(30, 1000)
	done, killed, published := 0, 0, 0
	for ; done < n && !t.Failed() && !late(t); done++ {
		p.forget(t, random)
		// Three of four builds begin with PTX: gnvcc's part is the same, and takes 0.05 s in place of 0.2.
		p.ext = ".ptx"
		longest := 80_000 // microseconds
		if random.IntN(4) == 0 {
			p.ext, longest = "", 200_000
		}
		stop := p.publishing(t)
		u := p.units[random.IntN(len(p.units))]
		builder := p.command(u)
		ok(t, builder.Start())
		time.Sleep(time.Duration(random.IntN(longest)) * time.Microsecond)
		syscall.Kill(-builder.Process.Pid, syscall.SIGKILL)
		builder.Wait()
		if !builder.ProcessState.Success() {
			killed++
		}
		p.buildIs(t, u, true)
		published += stop()
		gone(t, builder.Process.Pid)
	}
	p.ext = ""
	for _, u := range p.units {
		p.buildIs(t, u, true)
	}
	for _, pattern := range []string{"decisions.snapshot.broken-*", "spool/*.bad"} {
		if bad, _ := filepath.Glob(filepath.Join(p.store, pattern)); len(bad) > 0 {
			t.Errorf("damaged: %v", bad)
		}
	}
	if killed == 0 || published < done {
		t.Errorf("%d killed, %d decisions: the test tested little", killed, published)
	}
	t.Logf("%d rounds, %d builds killed; %d decisions published, none lost", done, killed, published)
}

// TestSignals ends the process group of a build by SIGINT and SIGTERM at random moments: an exit
// code that nvcc has, the next build fine, and no folder of ours left.
func TestSignals(t *testing.T) {
	kits.Long(t, "driver has TestSignals")
	t.Parallel()
	p := decided(t)
	random := seeded()
	type end struct {
		code   int
		signal syscall.Signal
	}
	run := func(cmd *exec.Cmd, sig syscall.Signal, after time.Duration) (end, string) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		ok(t, cmd.Start())
		time.Sleep(after)
		syscall.Kill(-cmd.Process.Pid, sig)
		cmd.Wait()
		gone(t, cmd.Process.Pid)
		e := end{code: cmd.ProcessState.ExitCode()}
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
			e.signal = status.Signal()
		}
		return e, out.String()
	}
	counts := map[end]int{}
	n := rounds(12, 200)
	done := 0
	for round := range n {
		if late(t) {
			t.Logf("LOUD: stopped by the time limit (-timeout) after %d of %d signals", done, n)
			break
		}
		done++
		sig := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[round%2]
		p.forget(t, random)
		u := p.units[random.IntN(len(p.units))]
		os.Remove(filepath.Join(p.dir, u.name+".cubin"))
		e, said := run(p.command(u), sig, time.Duration(random.IntN(200_000))*time.Microsecond)
		counts[e]++
		// nvcc: 2 after SIGINT, 255 after SIGTERM; before its handlers stand it dies by the signal; or it
		// was done. SIGINT between two of its tools: 255, too (13.0 by itself, one of 400).
		code := map[syscall.Signal]int{syscall.SIGINT: 2, syscall.SIGTERM: 255}[sig]
		switch {
		case e.code == code, e.signal == sig, e.code == 255 && said == "nvcc: Interrupt\n":
		case e.code == 0:
			want := u.nvcc
			if u.tuned != nil {
				want = u.tuned
			}
			if !bytes.Equal(p.cubin(t, u), want) {
				t.Errorf("round %d: exit code 0 and not the result", round)
			}
		default:
			t.Errorf("round %d: %v: exit code %d, signal %v, %q", round, sig, e.code, e.signal, said)
		}
		if bytes.Contains([]byte(said), []byte("gnvcc")) {
			t.Errorf("round %d: %v: said %q", round, sig, said)
		}
		p.noStray(t)
		p.buildIs(t, u, true)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	if len(counts) < 2 { // by each signal at least one build that was still going on
		t.Errorf("ends %v: the test tested little", counts)
	}
	t.Logf("%d signals, ends (code, signal): %v", done, counts)
}
