package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Counting what builds do. An event is a line appended to the file stats: one write, no lock, no
// wait, some microseconds. Once that file is long its lines are added up in stats.sum. Counts are
// for people: a kill or two builds at the worst moment may lose some, or count them twice.

const (
	statsName  = "stats"
	statsSum   = "stats.sum"
	statsOld   = "stats.old"  // being added up
	statsLock  = "stats.lock" // by whom
	statsLong  = 1 << 20      // bytes; some 20,000 events, added up in 10 ms
	maxWhy     = 160          // bytes of a reason
	maxReasons = 1000
	statsSince = "since" // begins the sum's first line
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
	f, err := os.OpenFile(filepath.Join(s.dir, statsName),
		os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, fileMode)
	if err != nil {
		return
	}
	f.WriteString(e.Stage + "\t" + e.Outcome + "\t" + oneLine(e.Why) + "\n")
	info, err := f.Stat()
	f.Close()
	if err == nil && info.Mode().IsRegular() && info.Size() > statsLong {
		s.addUp()
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

// Stats adds up what was counted. What could not be added up, on a read-only store or next to
// another who is at it, is counted all the same.
func (s *Store) Stats() (Stats, error) {
	s.addUp()
	return s.counted(statsSum, statsOld, statsName), nil
}

// counted reads files of events: a line each, with a number where it stands for several. A file that
// doesn't say since when it counts was begun at the latest at its time of modification.
func (s *Store) counted(names ...string) Stats {
	out := Stats{Counts: map[Event]int{}}
	for _, name := range names {
		path := filepath.Join(s.dir, name)
		b, err := readLimited(path, 64*statsLong)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil {
			continue
		}
		since := info.ModTime()
		for line := range strings.Lines(string(b)) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			n := 1
			if len(f) == 4 {
				n, _ = strconv.Atoi(f[3])
			}
			switch {
			case len(f) == 2 && f[0] == statsSince:
				if when, err := time.Parse(time.RFC3339, f[1]); err == nil {
					since = when
				}
			case len(f) < 3 || len(f) > 4 || f[0] == "" || f[1] == "": // torn
			default:
				e := Event{f[0], f[1], f[2]}
				if _, known := out.Counts[e]; !known && len(out.Counts) >= maxReasons {
					e.Why = "..."
				}
				out.Counts[e] += n
			}
		}
		if out.Since.IsZero() {
			out.Since = since
		}
	}
	return out
}

// addUp brings the lines into stats.sum, unless somebody else does.
func (s *Store) addUp() {
	at := func(name string) string { return filepath.Join(s.dir, name) }
	if _, err := os.Lstat(at(statsName)); err != nil {
		return
	}
	lock, err := os.OpenFile(at(statsLock), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, fileMode)
	if err != nil {
		return
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	if _, err := os.Lstat(at(statsOld)); err != nil && os.Rename(at(statsName), at(statsOld)) != nil {
		return // there is an old one of somebody who was killed: the next call takes the new one
	}
	sum := s.counted(statsSum, statsOld)
	text := fmt.Appendf(nil, "%s\t%s\n", statsSince, sum.Since.Format(time.RFC3339))
	for e, n := range sum.Counts {
		text = fmt.Appendf(text, "%s\t%s\t%s\t%d\n", e.Stage, e.Outcome, e.Why, n)
	}
	if writeFile(s.dir, statsSum, text, false) == nil {
		os.Remove(at(statsOld))
	}
}
