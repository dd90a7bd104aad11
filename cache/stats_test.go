package cache

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestStats(t *testing.T) {
	s := newStore(t)
	seen := Event{"ptxas", "seen", ""}
	s.Count(seen)
	if _, err := os.Stat(s.dir); err == nil {
		t.Error("counting made the folder")
	}
	ok(t, s.Writable())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				s.Count(seen)
			}
		})
	}
	all.Wait()
	s.Count(Event{"cicc", "aside", "/tmp/a/b.ii is not a regular\tfile\nand more"})
	s.Count(Event{"cicc", "aside", "/tmp/a/c.ii is not a regular\tfile"})
	got := s.Stats()
	if got.Counts[seen] != 800 || got.Counts[Event{"cicc", "aside", "... is not a regular file"}] != 2 || got.Since.IsZero() {
		t.Errorf("%v", got)
	}
	// Torn and unknown lines: what is left counts.
	path := filepath.Join(s.dir, statsName)
	ok(t, os.WriteFile(path, []byte("ptxas\tse\n\t\t\nptxas\tseen\t\nptx"), 0o600))
	if got := s.Stats(); got.Counts[seen] != 1 || len(got.Counts) != 1 {
		t.Errorf("%v", got)
	}
	// The files do not grow without end.
	e := Event{"ptxas", "aside", strings.Repeat("why ", 30)}
	for range 3 * statsLong / 100 {
		s.Count(e)
	}
	if info, err := os.Stat(path); err == nil && info.Size() > statsLong+1000 {
		t.Errorf("%d bytes", info.Size())
	}
	if n := s.Stats().Counts[Event{e.Stage, e.Outcome, oneLine(e.Why)}]; n < statsLong/200 {
		t.Errorf("only %d are counted", n)
	}
	healthy(t, Check(s.dir))
}
