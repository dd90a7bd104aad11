package capture

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// What captures may take: of the folder's disk, of memory, of the program's time.

// Limits of what is kept. A launch of more than Launch is not captured; of a run, not more than
// Run; Total and Age are for the folder.
type Limits struct {
	// bytes, in chunks that are not zero, before compression (Total: after it; Run: without what
	// another capture of the run has, too)
	Launch, Run, Total int64
	Age                time.Duration
}

// Usual are limits that any machine with a GPU can bear.
var Usual = Limits{Launch: 4 << 30, Run: 16 << 30, Total: 20 << 30, Age: 30 * 24 * time.Hour}

// What captures of a run may hold a program up: one launch, and all of them, with a part of the
// program's time.
const (
	standOnce            = 30 * time.Second
	stand, standOf       = time.Minute, 0.5
	leastStand           = time.Second // with less nothing is begun
	reserve              = 4 << 30     // bytes of a disk that stay free, and
	reserveOf      int64 = 20          // this part of one; the agent has the same (roomy in capture.c)
)

// Within gives limits that follow the machine. launch, if it is not 0, is what the user allows for
// one launch, and a run then gets four times as much; else a launch may have half of the memory
// that is free, which a replay reads it into, and a run what its disk has. A launch never gets more
// than a quarter of what the folder's disk has free, nor a run more than half.
func (l Limits) Within(dir string, launch int64) Limits {
	free := room(dir)
	if launch > 0 {
		l.Launch, l.Run, l.Total = launch, 4*launch, max(l.Total, 4*launch)
	} else {
		l.Launch, l.Run = max(l.Launch, available()/2), max(l.Run, free/2)
	}
	l.Launch, l.Run = min(l.Launch, free/4), min(l.Run, free/2)
	return l
}

// available is how much memory can be taken without swapping, as the kernel estimates it; 0: not
// known.
func available() int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	var kib int64
	for line := range strings.Lines(string(text)) {
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

var errFull = errors.New("the disk is nearly full")

// room is what may be written to a folder's disk, bytes.
func room(dir string) int64 {
	var fs syscall.Statfs_t
	if syscall.Statfs(dir, &fs) != nil {
		return 1 << 60 // a write will tell
	}
	keep := min(int64(fs.Blocks)*fs.Bsize/reserveOf, reserve)
	return max(int64(fs.Bavail)*fs.Bsize-keep, 0)
}

// Fits refuses a folder whose disk would be nearly full with a capture's file in it.
func (m *Manifest) Fits(dir string) error {
	if has := room(dir); m.Filled > has {
		return fmt.Errorf("%w: its file takes %d MiB, and %s may get %d MiB more", errFull,
			m.Filled>>20, dir, has>>20)
	}
	return nil
}
