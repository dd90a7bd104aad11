package edits

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"
)

// A look is what one look at a file gave.
type look struct {
	stamp stamp
	// zero where there is no file that can be read, and where the stamp alone counts
	content [sha256.Size]byte
	// it was written so shortly before that its stamp may stay as it is when it is written again
	fresh bool
}

// A stamp is what stat says of a file. Times are compared for being equal, never by which is later:
// a clock may go back.
type stamp struct {
	there                bool
	size, written, inode int64
	changed              int64 // of the inode: a file with its old time put back shows here
	device               uint64
}

// coarse is how long after a write another one may leave a file's times as they are: some file
// systems keep whole seconds, FAT two.
const coarse = 2 * time.Second

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // gone, a loop of links, not to be read, a folder
		return stamp{}
	}
	s := stamp{there: true, size: info.Size(), written: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode, s.device, s.changed = int64(st.Ino), uint64(st.Dev), st.Ctim.Nano()
	}
	return s
}

// tries is how often a file is read that is being written meanwhile. The last reading counts: the
// next event brings the next one.
const tries = 3

// at looks at a file. With content it is read.
func at(path string, content bool) look {
	l := look{stamp: stampOf(path)}
	if !l.stamp.there {
		return l
	}
	// also where its times lie ahead
	l.fresh = content && time.Since(time.Unix(0, max(l.stamp.written, l.stamp.changed))) < coarse
	if !content {
		return l
	}
	for n := 0; n < tries; n++ {
		l.content = sum(path)
		again := stampOf(path)
		if again == l.stamp {
			break
		}
		l.stamp, l.fresh = again, true
	}
	return l
}

// sum is the hash of a file's content.
func sum(path string) (out [sha256.Size]byte) {
	// what became a pipe meanwhile doesn't hold us up
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return out
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, most)); err != nil {
		return out
	}
	h.Sum(out[:0])
	return out
}

// Digest is a hash of what files are just now: the user's own by content, the others by their
// stamps.
func Digest(f Files) string {
	h := sha256.New()
	for _, path := range f.Near {
		fmt.Fprintf(h, "%q %x\n", path, at(path, true).content)
	}
	for _, path := range append(slices.Clone(f.Far), f.Tools...) {
		fmt.Fprintf(h, "%q %v\n", path, stampOf(path))
	}
	return string(h.Sum(nil))
}

// most is how much of a file is read, bytes. The largest sources that we know (generated ones) have
// some 100 MB.
const most = 1 << 30

// same reports whether two looks saw the same content. Where contents were not read, the stamps
// decide.
func (l look) same(before look, content bool) bool {
	if content {
		return l.content == before.content
	}
	return l.stamp == before.stamp
}
