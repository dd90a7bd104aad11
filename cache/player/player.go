package player

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
)

// A Player is a process that plays a role until it is killed.
type Player struct {
	Role   string
	cmd    *exec.Cmd
	stderr strings.Builder
	done   chan struct{} // its output was read to the end
}

// Start starts the command, which must be set up to play the role; each whole line that it prints
// goes to line, from another goroutine. A player that is left is killed when the test ends.
func Start(t testing.TB, role string, cmd *exec.Cmd, line func(string)) *Player {
	t.Helper()
	p := &Player{Role: role, cmd: cmd, done: make(chan struct{})}
	cmd.Stderr = &p.stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	go func() {
		defer close(p.done)
		in := bufio.NewReader(out)
		for {
			text, err := in.ReadString('\n')
			if err != nil {
				return
			}
			line(strings.TrimSpace(text))
		}
	}()
	return p
}

// Kill ends the player by SIGKILL; all that it printed has gone to line then. It must not have
// ended by itself.
func (p *Player) Kill(t testing.TB) {
	t.Helper()
	p.cmd.Process.Kill()
	<-p.done
	if err := p.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("the %s ended by itself: %v: %s", p.Role, err, p.stderr.String())
	}
}
