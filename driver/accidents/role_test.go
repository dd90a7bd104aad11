package accidents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/cache/player"
)

// The processes beside the builds: an owner that merges and publishes, and a writer that spools
// decisions as a tuner that is not the owner does. Each says on its standard output what the store
// has confirmed.

// confirm prints a key in one write, so that a kill leaves a whole line or none.
func confirm(key string) { os.Stdout.WriteString(key + "\n") }

// pause keeps two processors free for the builds: a tuner decides some times a minute.
const pause = 4 * time.Millisecond

// elsewhere is a decision about a kernel that is not built here.
func elsewhere(key string) cache.Decision {
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
			if err := o.Put(cache.Decisions, key, elsewhere(key)); err != nil {
				return err
			}
			if _, err := o.Merge(); err != nil {
				return err
			}
			if err := o.Publish(); err != nil {
				return err
			}
			confirm(key)
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
		if err := s.Spool(cache.Decisions, key, elsewhere(key)); err != nil {
			return err
		}
		confirm(key)
		if err := s.PutMemo("tuner", key, []byte(key)); err != nil {
			return err
		}
		time.Sleep(pause)
	}
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

// start runs a player, whose lines are keys.
func (l *ledger) start(t *testing.T, p *place, role string) *player.Player {
	t.Helper()
	self, err := os.Executable()
	ok(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(p.env[:len(p.env):len(p.env)], roleEnv+"="+role)
	return player.Start(t, role, cmd, func(key string) {
		l.mu.Lock()
		l.keys = append(l.keys, key)
		l.mu.Unlock()
	})
}

// kept opens the store as an owner does, and looks for every decision that was confirmed. No player
// runs meanwhile.
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
