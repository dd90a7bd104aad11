package accidents

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"gnvcc/cache"
)

// The processes beside the builds: an owner that merges and publishes, and a writer that spools decisions as a tuner that is not
// the owner does. Each says on its standard output what the store has confirmed.

// confirm prints a key in one write, so that a kill leaves a whole line or none.
func confirm(key string) { os.Stdout.WriteString(key + "\n") }

// pause keeps two processors free for the builds: a tuner decides some times a minute.
const pause = 4 * time.Millisecond

// foreign is a decision about a kernel that is not built here.
func foreign(key string) cache.Decision {
	return cache.Decision{Identity: key, Kernel: "elsewhere", Recipe: "maxnreg=40", Time: time.Now()}
}

func playOwner(s *cache.Store) error {
	for i := 0; ; {
		o, err := s.Own(context.Background())
		if errors.Is(err, cache.ErrOwned) {
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		if notes := o.Notes(); len(notes) > 0 {
			return fmt.Errorf("mended: %q", notes) // a kill damages nothing
		}
		for range 10 {
			key := cache.Hash(fmt.Append(nil, "owner", os.Getpid(), i))
			i++
			if err := o.Put(cache.Decisions, key, foreign(key)); err != nil {
				return err
			}
			confirm(key)
			if _, err := o.Merge(); err != nil {
				return err
			}
			if err := o.Publish(); err != nil {
				return err
			}
			time.Sleep(pause)
		}
		if err := o.Close(); err != nil {
			return err
		}
	}
}

func playWriter(s *cache.Store) error {
	for i := 0; ; i++ {
		key := cache.Hash(fmt.Append(nil, "writer", os.Getpid(), i))
		if _, err := s.PutObject([]byte(key)); err != nil {
			return err
		}
		if err := s.Spool(cache.Decisions, key, foreign(key)); err != nil {
			return err
		}
		confirm(key)
		if err := s.PutMemo("tuner", key, []byte(key)); err != nil {
			return err
		}
		time.Sleep(pause)
	}
}

// A player is one such process.
type player struct {
	role   string
	cmd    *exec.Cmd
	stderr strings.Builder
	done   chan struct{}
}

// A ledger holds the keys that were confirmed.
type ledger struct {
	mu   sync.Mutex
	keys []string
}

func (l *ledger) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.keys...)
}

func (l *ledger) start(t *testing.T, p *place, role string) *player {
	t.Helper()
	self, err := os.Executable()
	ok(t, err)
	c := &player{role: role, cmd: exec.Command(self), done: make(chan struct{})}
	c.cmd.Env = append(p.env[:len(p.env):len(p.env)], roleEnv+"="+role)
	c.cmd.Stderr = &c.stderr
	out, err := c.cmd.StdoutPipe()
	ok(t, err)
	ok(t, c.cmd.Start())
	go func() {
		defer close(c.done)
		in := bufio.NewReader(out)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			l.mu.Lock()
			l.keys = append(l.keys, strings.TrimSpace(line))
			l.mu.Unlock()
		}
	}()
	return c
}

// kill ends a player, which must not have ended by itself.
func (c *player) kill(t *testing.T) {
	t.Helper()
	c.cmd.Process.Kill()
	<-c.done
	if err := c.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("the %s ended by itself: %v: %s", c.role, err, c.stderr.String())
	}
}

// kept opens the store as an owner does, and looks for every decision that was confirmed. No player runs meanwhile.
func (l *ledger) kept(t *testing.T, p *place) {
	t.Helper()
	s, err := cache.Open(p.store)
	ok(t, err)
	publish(t, s)
	sn, err := s.Snapshot()
	ok(t, err)
	defer sn.Close()
	there := map[string]bool{}
	ok(t, sn.Each(cache.Decisions, "", func(key string, _ []byte) error { there[key] = true; return nil }))
	for _, key := range l.all() {
		if !there[key] {
			t.Errorf("lost: decision %s", key)
		}
	}
}
