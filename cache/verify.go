package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What gnvcc doctor says about the store. Looking changes nothing and takes no lock.

// A Level says how a finding is meant.
type Level string

const (
	Fine    Level = "ok"
	Note    Level = "note"    // worth knowing
	Problem Level = "problem" // something does not work, or is in danger
)

// A Finding is one line of doctor's.
type Finding struct {
	Level  Level
	What   string
	Advice string // what to do, "" for nothing
}

// manySpooled: with more files than this the spool slows its folder down, and nobody seems to
// merge.
const manySpooled = 20_000

// A checkup collects findings.
type checkup struct {
	dir      string
	findings []Finding
}

func (c *checkup) say(level Level, advice, format string, args ...any) {
	c.findings = append(c.findings, Finding{level, fmt.Sprintf(format, args...), advice})
}

// fail says an error, with the advice that it brings.
func (c *checkup) fail(err error) {
	var known *Error
	if errors.As(err, &known) {
		c.say(Problem, known.Advice, "%s: %s: %v", known.Doing, known.Path, known.Err)
		return
	}
	c.say(Problem, "", "%v", err)
}

// Check looks at the store in dir: what is there, how much, and what is wrong. It reads the
// database and the snapshot as a whole, and only the names and sizes of the rest (CheckContents
// reads that too).
func Check(dir string) []Finding {
	c := &checkup{dir: dir}
	if !c.folder() {
		return c.findings
	}
	alive := c.owner()
	snap := c.snapshot()
	c.database(alive, snap)
	c.spool()
	c.limit(c.files(objectName, "objects") + c.files(memoName, "memos"))
	c.broken()
	return c.findings
}

// folder says whether there is something to look at.
func (c *checkup) folder() bool {
	s, err := Open(c.dir)
	if err != nil {
		c.fail(err)
		return false
	}
	if _, err := os.Stat(s.dir); err != nil {
		if err := makeable(s.dir); err != nil {
			c.fail(err)
			return false
		}
		c.say(Note, "", "%s: no store yet, the first build makes it", s.dir)
		return false
	}
	if kind := NetworkFS(s.dir); kind != "" {
		c.say(Problem, "set GNVCC_STORE to a folder on a local disk",
			"%s: on a network file system (%s): builds read what is there, nothing can be added", s.dir,
			kind)
	}
	if err := syscall.Access(s.dir, 2 /* W_OK */); err != nil {
		c.fail(failed("write to the store", s.dir, err))
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(s.dir, &st); err == nil {
		free := int64(st.Bavail) * st.Bsize
		level, advice := Fine, ""
		if free < 100<<20 {
			level, advice = Problem, "free some space, or set GNVCC_STORE to a folder elsewhere"
		}
		c.say(level, advice, "%s: %s free", s.dir, BytesText(free))
	}
	return true
}

// makeable says why the first build can't make a store's folder, from the nearest folder above it
// that exists.
func makeable(dir string) error {
	doing := "make the store's folder " + dir
	for above := dir; ; above = filepath.Dir(above) {
		if _, err := os.Lstat(above); err != nil && above != "/" {
			continue
		}
		info, err := os.Stat(above)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return &Error{Doing: doing, Path: above, Kind: errUnsafe,
				Err:    errors.New("it is a link to nothing"),
				Advice: "make what it points to, or set GNVCC_STORE to a folder elsewhere"}
		case err == nil && !info.IsDir():
			err = syscall.ENOTDIR
		case err == nil:
			err = syscall.Access(above, 3 /* W_OK and X_OK */)
		}
		return failed(doing, above, err)
	}
}

// owner says whether somebody is the owner. Trying the lock would keep a real owner out for that
// moment: /proc/locks tells without.
func (c *checkup) owner() (alive bool) {
	path := filepath.Join(c.dir, lockName)
	info, err := os.Stat(path)
	if err != nil {
		c.say(Fine, "", "no owner yet")
		return false
	}
	pid := lockHolder(info)
	if pid == 0 {
		// On some file systems (overlayfs) the device and inode there are not those of stat. The text in
		// the file names a process; it is the owner if it has the file open.
		text, _ := readLimited(path, 1024)
		var said int
		if fmt.Sscanf(string(text), "process %d", &said); hasOpen(said, path) {
			pid = said
		}
	}
	if pid == 0 {
		c.say(Fine, "", "no owner at the moment")
		return false
	}
	c.say(Fine, "", "process %d is the owner", pid)
	return true
}

// lockHolder finds the process that holds a flock on the file, 0 for none.
// proc_locks(5): "1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF", the device in hexadecimal.
func lockHolder(info fs.FileInfo) (pid int) {
	st, ok := info.Sys().(*syscall.Stat_t)
	text, err := os.ReadFile("/proc/locks")
	if err != nil || !ok {
		return 0
	}
	major, minor := device(uint64(st.Dev))
	want := fmt.Sprintf("%02x:%02x:%d", major, minor, st.Ino)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) >= 6 && f[1] == "FLOCK" && f[5] == want {
			pid, _ = strconv.Atoi(f[4])
			return pid
		}
	}
	return 0
}

// hasOpen says whether the process has the file open.
func hasOpen(pid int, path string) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && to == path {
			return true
		}
	}
	return false
}

func (c *checkup) snapshot() *survey {
	path := filepath.Join(c.dir, snapName)
	found, err := surveySnapshot(path, nil)
	if errors.Is(err, fs.ErrNotExist) {
		c.say(Note, "", "no decisions have been published: builds compile as nvcc does")
		return nil
	}
	if err != nil {
		c.fail(err)
		c.more(found)
		return nil
	}
	info, err := os.Stat(path)
	if err == nil {
		c.say(Fine, "", "published %s ago, %s: %s", AgeText(info.ModTime()), BytesText(info.Size()),
			recordsText(found.Records))
	}
	return found
}

func (c *checkup) more(found *survey) {
	if found == nil {
		return
	}
	for _, p := range found.Problems[min(1, len(found.Problems)):] {
		c.say(Note, "", "also: %v", p)
	}
}

func (c *checkup) database(alive bool, snap *survey) {
	path := filepath.Join(c.dir, dbName)
	if alive {
		// It changes while we read.
		if info, err := os.Stat(path); err == nil {
			c.say(Fine, "", "database: %s, in use by the owner and not looked into", BytesText(info.Size()))
		}
		return
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if snap != nil {
			c.say(Note, "", "no database: the next owner makes one from what was published")
		}
		return
	}
	s := &Store{dir: c.dir}
	state, err := s.database()
	switch {
	case err != nil:
		c.fail(failed("check the database", path, err))
	case !state.sealed:
		c.say(Note, "the next owner (gnvcc tune) rebuilds it from the snapshot and the spool",
			"database: its owner was killed, or the file was changed since")
	case snap != nil && snap.ID == state.id && snap.Tx > state.tx:
		c.say(Problem, "the next owner (gnvcc tune) starts from the snapshot",
			"database: older than what was published from it")
	case snap == nil || snap.ID != state.id || snap.Tx != state.tx:
		c.say(Note, "the next owner (gnvcc tune) publishes", "database: %s, not what is published",
			BytesText(info.Size()))
	default:
		c.say(Fine, "", "database: %s, all of it published", BytesText(info.Size()))
	}
}

func (c *checkup) spool() {
	entries, err := os.ReadDir(filepath.Join(c.dir, spoolName))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.fail(failed("read the spool", filepath.Join(c.dir, spoolName), err))
		}
		return
	}
	var waiting, bad, others int
	var size int64
	var oldest time.Time
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || strings.HasPrefix(e.Name(), tempMark) {
			continue
		}
		switch filepath.Ext(e.Name()) {
		case spoolExt:
			waiting++
			size += info.Size()
			if oldest.IsZero() || info.ModTime().Before(oldest) {
				oldest = info.ModTime()
			}
		case badExt:
			bad++
		default:
			others++
		}
	}
	switch {
	case waiting > manySpooled:
		c.say(Problem, "gnvcc tune merges them", "spool: %s (%s) waiting, the oldest for %s",
			records(waiting), BytesText(size), AgeText(oldest))
	case waiting > 0:
		c.say(Fine, "", "spool: %s (%s) waiting for an owner, the oldest for %s",
			records(waiting), BytesText(size), AgeText(oldest))
	default:
		c.say(Fine, "", "spool: empty")
	}
	if bad > 0 {
		c.say(Note, "they may be deleted, and are after a month",
			"spool: %d files that were no records were set aside (%s)", bad, badExt)
	}
	if others > 0 {
		c.say(Note, "", "spool: %d files that gnvcc did not make", others)
	}
}

// records counts some.
func records(n int) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}

func (c *checkup) files(sub, name string) int64 {
	count, size, err := folderSize(filepath.Join(c.dir, sub))
	if err != nil {
		c.fail(failed("read the "+name, filepath.Join(c.dir, sub), err))
	}
	c.say(Fine, "", "%s: %d, %s", name, count, BytesText(size))
	return size
}

// limit says how large the store may become, and when it was last made smaller.
func (c *checkup) limit(size int64) {
	most, err := Cap()
	if err != nil {
		c.say(Problem, "", "%v; it is %s as long as it says so", err, BytesText(most))
	}
	text := "no limit (GNVCC_MAXSIZE=0)"
	if most < math.MaxInt64 {
		text = fmt.Sprintf("%s of at most %s (GNVCC_MAXSIZE)", BytesText(size), BytesText(most))
	}
	trimmed := "never trimmed"
	if info, err := os.Stat(filepath.Join(c.dir, trimName)); err == nil {
		trimmed = "trimmed " + AgeText(info.ModTime()) + " ago"
	}
	c.say(Fine, "", "objects and memos: %s, %s; builds trim it once a day", text, trimmed)
}

func (c *checkup) broken() {
	files, _ := filepath.Glob(filepath.Join(c.dir, "*"+brokenMark+"*"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			c.say(Note, "delete it when it is no longer of interest",
				"%s: a damaged database that was replaced, %s", f, BytesText(info.Size()))
		}
	}
}

// CheckContents reads every object, memo and spool file of the store in dir and compares it with
// its hash or checksum. It changes nothing. For large stores it takes about a second per gigabyte.
func CheckContents(dir string) []Finding {
	c := &checkup{dir: dir}
	s, err := Open(dir)
	if err != nil {
		c.fail(err)
		return c.findings
	}
	read, bad := 0, 0
	wrong := func(path, format string, args ...any) {
		if bad++; bad <= maxProblems {
			c.say(Problem, "delete it: it is made again when needed", "%s: %s", path,
				fmt.Sprintf(format, args...))
		}
	}
	walk := func(sub string, look func(path string, rel []string, b []byte)) {
		top := filepath.Join(dir, sub)
		eachFile(top, func(path string, info fs.FileInfo) {
			if strings.HasPrefix(info.Name(), tempMark) {
				return
			}
			b, err := readLimited(path, maxObject)
			switch {
			case errors.Is(err, fs.ErrNotExist): // trimmed or merged meanwhile
			case err != nil:
				wrong(path, "%v", bare(err))
			default:
				read++
				look(path, strings.Split(strings.TrimPrefix(path, top+"/"), "/"), b)
			}
		})
	}
	walk(objectName, func(path string, rel []string, b []byte) {
		b, err := unpack(path, b)
		ext := filepath.Ext(path)
		if !slices.Contains(objectExts[:], ext) {
			ext = ""
		}
		name := strings.TrimSuffix(rel[len(rel)-1], ext)
		path = strings.TrimSuffix(path, ext)
		switch {
		case s.ObjectPath(name) != path:
			wrong(path, "no object's name")
		case err != nil:
			wrong(path, "%v", err)
		case Hash(b) != name:
			wrong(path, "the content has another hash")
		}
	})
	walk(memoName, func(path string, rel []string, b []byte) {
		if len(rel) != 3 || s.memoPath(rel[0], rel[2]) != path {
			wrong(path, "no memo's name")
		} else if _, _, err := unseal(where(rel[0], rel[2]), b); err != nil {
			wrong(path, "%v", err)
		}
	})
	walk(spoolName, func(path string, rel []string, b []byte) {
		if filepath.Ext(path) == spoolExt {
			if _, err := decodeSpooled(rel[len(rel)-1], b); err != nil && !errors.Is(err, errNewer) {
				wrong(path, "%v", err)
			}
		}
	})
	level := Fine
	if bad > 0 {
		level = Problem
	}
	c.say(level, "", "%d files read, %d damaged", read, bad)
	return c.findings
}

// recordsText is "3 decisions, 12 assemblies" and so on.
func recordsText(records map[string]int) string {
	plural := map[string]string{Decisions: "decisions", Assemblies: "assemblies",
		Translations: "translations", Links: "links"}
	text := []string{}
	for _, bucket := range slices.Sorted(maps.Keys(records)) {
		name := plural[bucket]
		if name == "" {
			name = strconv.Quote(bucket)
		}
		if records[bucket] == 1 && plural[bucket] != "" {
			name = bucket
		}
		text = append(text, fmt.Sprintf("%d %s", records[bucket], name))
	}
	if len(text) == 0 {
		return "no records"
	}
	return strings.Join(text, ", ")
}

// BytesText is a size as people read it.
func BytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// AgeText is how long ago something was, as people say it.
func AgeText(when time.Time) string {
	switch d := time.Since(when); {
	case d < 0:
		return "less than no time (the clock went back)"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}
