package cache

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Counting what builds do. An event is a line appended to the file stats: one write, no lock, no
// wait, some microseconds. Once that file is long its lines are added up in stats.sum. Counts are
// for people: a kill or two builds at the worst moment may lose some, or count them twice.

const (
	statsName   = "stats"
	statsSum    = "stats.sum"
	statsOld    = "stats.old"  // being added up
	statsLock   = "stats.lock" // by whom
	statsLong   = 1 << 20      // bytes; some 20,000 events, added up in 10 ms
	maxWhy      = 160          // bytes of a reason
	maxStatsSum = 4 << 20      // reasons are few; a file larger than this is not ours
	maxReasons  = 1000
)

// An Event is something that is counted: by which stage, how it ended, and why where that says
// something.
type Event struct{ Stage, Outcome, Why string }

// Stats are the events since a time.
type Stats struct {
	Since  time.Time
	Counts map[Event]int
}

type statsLine struct {
	Event
	Count int
}

type statsFile struct {
	Since  time.Time
	Events []statsLine
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

// Stats adds up what was counted.
func (s *Store) Stats() (Stats, error) {
	s.addUp()
	sum := s.readSum()
	// What could not be added up, on a read-only store or beside another who is at it, is counted all
	// the same.
	since := s.addLines(sum.Counts, statsOld)
	if other := s.addLines(sum.Counts, statsName); since.IsZero() {
		since = other
	}
	if sum.Since.IsZero() {
		sum.Since = since
	}
	return sum, nil
}

func (s *Store) readSum() Stats {
	out := Stats{Counts: map[Event]int{}}
	var kept statsFile
	b, err := readLimited(filepath.Join(s.dir, statsSum), maxStatsSum)
	if err != nil || json.Unmarshal(b, &kept) != nil {
		return out
	}
	out.Since = kept.Since
	for _, l := range kept.Events {
		out.Counts[l.Event] += l.Count
	}
	return out
}

// addLines adds the events of a file, and says when that was begun: its birth is not to be had, so
// the time of the first sum stands for it, and before that the time of the file.
func (s *Store) addLines(counts map[Event]int, name string) (since time.Time) {
	path := filepath.Join(s.dir, name)
	b, err := readLimited(path, 64*statsLong)
	if err != nil {
		return since
	}
	if info, err := os.Stat(path); err == nil {
		since = info.ModTime()
	}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		f := strings.Split(lines.Text(), "\t")
		if len(f) != 3 || f[0] == "" || f[1] == "" {
			continue // torn
		}
		e := Event{f[0], f[1], f[2]}
		if _, known := counts[e]; !known && len(counts) >= maxReasons {
			e.Why = "..."
		}
		counts[e]++
	}
	return since
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
	sum := s.readSum()
	since := s.addLines(sum.Counts, statsOld) // of one who was killed
	if os.Rename(at(statsName), at(statsOld)) != nil {
		return
	}
	if moved := s.addLines(sum.Counts, statsOld); since.IsZero() {
		since = moved
	}
	if sum.Since.IsZero() {
		sum.Since = since
	}
	kept := statsFile{Since: sum.Since}
	for e, n := range sum.Counts {
		kept.Events = append(kept.Events, statsLine{e, n})
	}
	b, err := json.Marshal(kept)
	if err == nil && writeFile(s.dir, statsSum, b, false) == nil {
		os.Remove(at(statsOld))
	}
}
