package cache

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Counting what builds do. An event is a line appended to the file stats: one write, no lock, no
// wait, some microseconds. A file that has become long takes the place of the one before it, so that
// the last 20,000 events and more are counted. Counts are for people: a kill or two builds at the
// worst moment may lose some.

const (
	statsName  = "stats"
	statsOld   = "stats.old" // the lines before those
	statsLong  = 1 << 20     // bytes
	maxWhy     = 160         // bytes of a reason
	maxReasons = 1000
)

// An Event is something that is counted: by which stage, how it ended, and why where that says
// something.
type Event struct{ Stage, Outcome, Why string }

// Stats are the events since a time.
type Stats struct {
	Since  time.Time
	Counts map[Event]int
}

// Count counts an event. It makes no folder, and what can't be written is not counted.
func (s *Store) Count(e Event) {
	path := filepath.Join(s.dir, statsName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, fileMode)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	line := e.Stage + "\t" + e.Outcome + "\t" + oneLine(e.Why) + "\n"
	if info.Size() == 0 {
		line = time.Now().Format(time.RFC3339) + "\n" + line
	}
	f.WriteString(line)
	if info.Size() > statsLong {
		os.Rename(path, filepath.Join(s.dir, statsOld))
	}
}

// oneLine makes a reason one that many events share: files go, and what is too long.
func oneLine(why string) string {
	why, _, _ = strings.Cut(why, "\n")
	words := strings.Fields(why)
	for i, w := range words {
		if strings.Contains(w, "/") {
			words[i] = "..."
		}
	}
	why = strings.Join(words, " ")
	if len(why) > maxWhy {
		why = strings.ToValidUTF8(why[:maxWhy], "") + "..."
	}
	return why
}

// Stats adds up what was counted.
func (s *Store) Stats() Stats {
	out := Stats{Counts: map[Event]int{}}
	for _, name := range []string{statsOld, statsName} {
		b, _ := readLimited(filepath.Join(s.dir, name), 64*statsLong)
		for line := range strings.Lines(string(b)) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if when, err := time.Parse(time.RFC3339, f[0]); err == nil && out.Since.IsZero() {
				out.Since = when
			}
			if len(f) != 3 || f[0] == "" || f[1] == "" {
				continue // torn
			}
			e := Event{f[0], f[1], f[2]}
			if _, known := out.Counts[e]; !known && len(out.Counts) >= maxReasons {
				e.Why = "..."
			}
			out.Counts[e]++
		}
	}
	return out
}
