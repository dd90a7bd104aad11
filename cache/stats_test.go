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
	want := func(e Event, n int) {
		t.Helper()
		got, err := s.Stats()
		ok(t, err)
		if got.Counts[e] != n || got.Since.IsZero() {
			t.Errorf("%v: %d, want %d of %v", e, got.Counts[e], n, got)
		}
	}
	want(seen, 800)
	want(seen, 800)
	want(Event{"cicc", "aside", "... is not a regular file"}, 2)
	// Torn and unknown lines, and a sum that can't be read: what is left counts.
	ok(t, os.WriteFile(filepath.Join(s.dir, statsName), []byte("ptxas\tse\n\t\t\nptxas\tseen\t\nptx"),
		0o600))
	want(seen, 801)
	ok(t, os.WriteFile(filepath.Join(s.dir, statsSum), []byte("{"), 0o600))
	s.Count(seen)
	want(seen, 1)
	healthy(t, Check(s.dir))
}

// The file does not grow without end, and no event is lost when it is added up.
func TestStatsLong(t *testing.T) {
	s := newStore(t)
	ok(t, s.Writable())
	e := Event{"ptxas", "aside", strings.Repeat("why ", 30)}
	const n = 3 * statsLong / 100
	for range n {
		s.Count(e)
	}
	info, err := os.Stat(filepath.Join(s.dir, statsName))
	if err == nil && info.Size() > statsLong+1000 {
		t.Errorf("%d bytes", info.Size())
	}
	got, err := s.Stats()
	ok(t, err)
	if count := got.Counts[Event{e.Stage, e.Outcome, oneLine(e.Why)}]; count != n {
		t.Errorf("%d of %d", count, n)
	}
}
