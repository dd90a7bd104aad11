package cache

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
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

// manySpooled: with more files than this the spool slows its folder down, and no owner seems to
// merge.
const manySpooled = 20_000

// A checkup collects findings.
type checkup struct {
	s        *Store
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
// snapshot as a whole, and only the names and sizes of the rest (CheckContents
// reads that too).
func Check(dir string) []Finding {
	c := &checkup{s: &Store{dir: dir}}
	if !c.folder() {
		return c.findings
	}
	c.snapshot()
	c.spool()
	c.sizes()
	broken, _ := filepath.Glob(filepath.Join(dir, "*"+brokenMark+"*"))
	for _, path := range broken {
		c.say(Note, "delete it when it is no longer of interest", "%s: damaged decisions that were replaced, %s",
			path, sizeText(path))
	}
	return c.findings
}

// folder reports whether there is something to look at.
func (c *checkup) folder() bool {
	dir := c.s.dir
	if s, err := Open(dir); err != nil {
		c.fail(err)
		return false
	} else if _, err := os.Stat(s.dir); err != nil {
		if err := makeable(dir); err != nil {
			c.fail(err)
		} else {
			c.say(Note, "", "%s: no store yet, the first build makes it", dir)
		}
		return false
	}
	if kind := NetworkFS(dir); kind != "" {
		c.say(Problem, "set GNVCC_STORE to a folder on a local disk",
			"%s: on a network file system (%s): builds read what is there, nothing can be added", dir, kind)
	}
	if err := syscall.Access(dir, 2 /* W_OK */); err != nil {
		c.fail(failed("write to the store", dir, err))
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err == nil {
		free := int64(st.Bavail) * st.Bsize
		level, advice := Fine, ""
		if free < 100<<20 {
			level, advice = Problem, "free some space, or set GNVCC_STORE to a folder elsewhere"
		}
		c.say(level, advice, "%s: %s free", dir, BytesText(free))
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

func (c *checkup) snapshot() {
	path := filepath.Join(c.s.dir, snapName)
	found, err := surveySnapshot(path, nil)
	if errors.Is(err, fs.ErrNotExist) {
		c.say(Note, "", "nothing has been decided yet: builds compile as nvcc does")
		return
	}
	if err != nil {
		c.fail(err)
		return
	}
	var records []string
	for _, bucket := range slices.Sorted(maps.Keys(found.Records)) {
		records = append(records, counted(found.Records[bucket], bucket))
	}
	if info, err := os.Stat(path); err == nil {
		c.say(Fine, "", "%s; %s, changed %s ago", cmp.Or(strings.Join(records, ", "), "no records"),
			BytesText(info.Size()), AgeText(info.ModTime()))
	}
}

func (c *checkup) spool() {
	dir := filepath.Join(c.s.dir, spoolName)
	waiting, err := c.s.pending()
	if err != nil {
		c.fail(failed("read the spool", dir, err))
		return
	}
	level := Fine
	if len(waiting) > manySpooled {
		level = Problem
	}
	if len(waiting) > 0 {
		c.say(level, "the next gnvcc tune, pin or apply takes them in", "%s of builds", counted(len(waiting), "new record"))
	}
	if bad, _ := filepath.Glob(filepath.Join(dir, "*"+badExt)); len(bad) > 0 {
		c.say(Note, "they may be deleted, and are after a month",
			"%d files in %s that were no records were set aside (%s)", len(bad), dir, badExt)
	}
}

// sizes says how large objects and memos are and may become, and when they were last trimmed.
func (c *checkup) sizes() {
	sizes, err := c.s.Sizes()
	if most, wrong := Cap(); wrong != nil {
		c.say(Problem, "", "%v; it is %s as long as it says so", wrong, BytesText(most))
	} else if err != nil {
		c.fail(err)
	}
	limit := "no limit (GNVCC_MAXSIZE=0)"
	if sizes.Cap < math.MaxInt64 {
		limit = fmt.Sprintf("at most %s (GNVCC_MAXSIZE)", BytesText(sizes.Cap))
	}
	trimmed := "never trimmed"
	if info, err := os.Stat(filepath.Join(c.s.dir, trimName)); err == nil {
		trimmed = "trimmed " + AgeText(info.ModTime()) + " ago"
	}
	c.say(Fine, "", "results of compiles, to be used again: %s in %s; %s, %s; builds trim them once a day",
		BytesText(sizes.Objects+sizes.Memos), counted(sizes.ObjectCount+sizes.MemoCount, "file"), limit, trimmed)
}

// maxProblems bounds how many damaged files are named.
const maxProblems = 20

// CheckContents reads every object, memo and spool file of the store in dir and compares it with
// its hash or checksum. It changes nothing. For large stores it takes about a second per gigabyte.
func CheckContents(dir string) []Finding {
	s, err := Open(dir)
	c := &checkup{s: s}
	if err != nil {
		c.fail(err)
		return c.findings
	}
	read, bad := 0, 0
	walk := func(sub string, check func(path, name string, b []byte) error) {
		eachFile(filepath.Join(dir, sub), func(path string, info fs.FileInfo) {
			if strings.HasPrefix(info.Name(), tempMark) {
				return
			}
			b, err := readLimited(path, maxObject)
			if errors.Is(err, fs.ErrNotExist) {
				return // trimmed or merged meanwhile
			}
			if err == nil {
				read++
				err = check(path, info.Name(), b)
			}
			if err == nil {
				return
			}
			if bad++; bad <= maxProblems {
				c.say(Problem, "delete it: it is made again when needed", "%s: %v", path, bare(err))
			}
		})
	}
	walk(objectName, func(path, name string, b []byte) error {
		name = strings.TrimSuffix(name, packedExt)
		if s.ObjectPath(name) != strings.TrimSuffix(path, packedExt) {
			return errors.New("no object's name")
		}
		b, err := unpack(path, b)
		if err == nil && Hash(b) != name {
			err = errors.New("the content has another hash")
		}
		return err
	})
	walk(memoName, func(path, name string, b []byte) error {
		kind := filepath.Base(filepath.Dir(filepath.Dir(path)))
		if s.memoPath(kind, name) != path {
			return errors.New("no memo's name")
		}
		_, _, err := unseal(where(kind, name), b)
		return err
	})
	walk(spoolName, func(path, name string, b []byte) error {
		if filepath.Ext(path) != spoolExt {
			return nil
		}
		if _, err := decodeSpooled(name, b); !errors.Is(err, errNewer) {
			return err
		}
		return nil
	})
	level := Fine
	if bad > 0 {
		level = Problem
	}
	c.say(level, "", "%d files read, %d damaged", read, bad)
	return c.findings
}

// counted is "1 assembly" or "3 assemblies".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// sizeText is the size of a file.
func sizeText(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "no file"
	}
	return BytesText(info.Size())
}

// BytesText is a size as people read it.
func BytesText(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	size, units := float64(n)/(1<<10), []string{"KiB", "MiB", "GiB"}
	for size >= 1<<10 && len(units) > 1 {
		size, units = size/(1<<10), units[1:]
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
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
