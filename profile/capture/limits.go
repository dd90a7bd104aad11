package capture

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
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

// What captures of a run may hold a program up: so long, or such a part of its time if that is more.
// The agent gives up what takes longer. As long at the most, or for two seconds, the program's end waits
// for files.
//
// Many run tune once. A capture of CloverLeaf holds it up for 0.13 s on an H200, and 35 of its kernels
// take nine tenths of its time: half a second is enough for 16 % of it, and five are for most. So the
// first run, of whose program the store has no capture, gets those; later ones only add what has
// changed, and are to be like runs without tune.
const (
	firstStand, firstStandOf = 5 * time.Second, 0.1
	stand, standOf           = 500 * time.Millisecond, 0.02
)

const (
	leastStand       = 5 * time.Millisecond // with less nothing is begun
	reserve          = 4 << 30              // bytes of a disk that stay free, and
	reserveOf  int64 = 20                   // this part of one; the agent has the same (roomy in capture.c)
)

// mayStand is what captures of this run may hold the program up.
func (c *Collector) mayStand() (long time.Duration, of float64) {
	if len(c.stored) == 0 {
		return firstStand, firstStandOf
	}
	return stand, standOf
}

// allowance is the same, as of now.
func (c *Collector) allowance() time.Duration {
	long, of := c.mayStand()
	return max(long, time.Duration(of*float64(c.now().Sub(c.begun))))
}

// nextRun is why there is no capture of what there was no time for: that is said once for all of
// them, and the next run, which makes none again that there are, has the time.
func (c *Collector) nextRun() string {
	long, of := c.mayStand()
	return fmt.Sprintf("captures would have held the program up for more than %g %% of its time and %g s: "+
		"the next run goes on with them", 100*of, long.Seconds())
}

// Within gives limits that follow the machine. launch, if it is not 0, is what the user allows for
// one launch, and a run then gets four times as much; else a launch may have half of the memory
// that is free, which a replay reads it into, and a run what its disk has. A launch never gets more
// than a quarter of what the folder's disk has free, nor a run more than half.
//
// All that one run may keep the folder keeps, or what is captured today would be gone tomorrow.
func (l Limits) Within(dir string, launch int64) Limits {
	free := Room(dir)
	if launch > 0 {
		l.Launch = min(launch, free) // no product of what the user says runs over
		l.Run = 4 * l.Launch
	} else {
		l.Launch, l.Run = max(l.Launch, available()/2), max(l.Run, free/2)
	}
	l.Launch, l.Run = min(l.Launch, free/4), min(l.Run, free/2)
	l.Total = max(l.Total, l.Run)
	return l
}

// available is how much memory can be taken without swapping, as the kernel estimates it, and the
// control groups of this process allow; 0: not known. The agent has the same (room.h).
func available() int64 {
	var kib int64
	read("/proc/meminfo", "MemAvailable:", &kib)
	return min(kib<<10, allowed("/proc/self/cgroup", "/sys/fs/cgroup"))
}

// allowed is what control groups leave: each group above counts, too. Files that they have in
// memory are given up where need be.
func allowed(list, root string) int64 {
	text, _ := os.ReadFile(list)
	least := int64(math.MaxInt64)
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		kind, group, _ := strings.Cut(rest, ":")
		top, names := root, [3]string{"memory.max", "memory.current", "inactive_file"}
		if kind == "memory" {
			top = filepath.Join(root, kind)
			names = [3]string{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
		} else if kind != "" {
			continue
		}
		for at := filepath.Join("/", group); ; at = filepath.Dir(at) {
			var most, used, files int64
			read(filepath.Join(top, at, names[0]), "", &most)
			read(filepath.Join(top, at, names[1]), "", &used)
			read(filepath.Join(top, at, "memory.stat"), names[2], &files)
			if most > 0 {
				least = min(least, max(most-used+files, 0))
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}

// read takes a number from a file, of the line that begins with a name.
func read(path, name string, n *int64) {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if _, err := fmt.Sscan(rest, n); err == nil {
				return
			}
		}
	}
}

var errFull = errors.New("the disk is nearly full")

const inMemory = 0x01021994 // statfs' number of tmpfs, whose files take memory

// Room is what may be written to a folder's disk or, where that is memory, is free there; bytes.
func Room(dir string) int64 {
	var fs syscall.Statfs_t
	if syscall.Statfs(dir, &fs) != nil {
		return 1 << 60 // a write will tell
	}
	left := int64(fs.Bavail) * fs.Bsize
	if fs.Type == inMemory {
		left = min(left, available())
	}
	return max(left-min(int64(fs.Blocks)*fs.Bsize/reserveOf, reserve), 0)
}

// RoomFor refuses so many bytes more in a folder whose disk would be nearly full with them.
func RoomFor(dir string, bytes int64) error {
	if has := Room(dir); bytes > has {
		return fmt.Errorf("%w: %d KiB are to come, and %s may get %d KiB more", errFull, bytes>>10, dir,
			has>>10)
	}
	return nil
}

// look is after how many bytes it is looked again whether there is room: others write, too.
const look = 16 << 20

// A File is not written to when its disk is nearly full.
type File struct {
	*os.File
	left int64
}

func (f *File) Write(b []byte) (int, error) {
	if f.left -= int64(len(b)); f.left < 0 {
		f.left = look
		if err := RoomFor(f.Name(), int64(len(b))+look); err != nil {
			return 0, err
		}
	}
	return f.File.Write(b)
}
