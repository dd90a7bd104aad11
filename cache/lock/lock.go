package lock

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gnvcc/cache"
)

// version is the format's; a text of another one is refused.
const version = 1

const (
	headMark = "gnvcc lock "
	lastLine = "end"
	// NoCode stands in the place of a code's hash where there is no recipe.
	NoCode = "-"

	// What one file may have. The largest that we know of is made (10,000 lines, 5 MB); the bounds
	// keep a hostile file from eating a build's memory.
	maxSize = 64 << 20 // bytes
	maxLine = 64 << 10 // bytes
)

// A Line is one decision of the file.
type Line struct {
	Kernel   string
	Device   string
	Target   string
	Ptxas    string
	Recipe   string
	Exact    string
	Checks   int
	Varied   int
	Gain     float64
	Time     time.Time
	Gnvcc    string
	Identity string
	Code     string
	Normals  []Normal // sorted by Variant
}

// A Normal is the PTX that a rewriting of the source must give.
type Normal struct{ Variant, Hash string }

// levels are the words of exact.
var levels = []string{"construction", "checked"}

// Key is under what its decision is kept (cache.Decision.Key): one a file.
func (l Line) Key() string {
	d := l.Decision()
	return d.Key()
}

// Decision is the line as a build knows it.
func (l Line) Decision() cache.Decision {
	d := cache.Decision{Identity: l.Identity, Kernel: l.Kernel, Target: l.Target, Recipe: l.Recipe,
		Exactness: l.Exact,
		Time:      l.Time}
	d.Evidence = cache.Evidence{Device: l.Device, Version: l.Gnvcc,
		Locked: &cache.Locked{Gain: l.Gain, Checks: l.Checks, Varied: l.Varied, Ptxas: l.Ptxas}}
	if l.Recipe == "" {
		d.Evidence.Note = "measured elsewhere: nothing was better than nvcc's own code"
	}
	d.Pinned = l.Recipe != "" && l.Gain == 0 && l.Checks+l.Varied == 0
	if l.Recipe != "" {
		d.Evidence.Normals = map[string]string{cache.CodeKey: l.Code}
		for _, n := range l.Normals {
			d.Evidence.Normals[n.Variant] = n.Hash
		}
	}
	return d
}

// order puts lines into the file's order.
func order(lines []Line) {
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(strings.Compare(a.Kernel, b.Kernel), strings.Compare(a.Device, b.Device),
			strings.Compare(a.Target, b.Target),
			strings.Compare(a.Ptxas, b.Ptxas), strings.Compare(a.Identity, b.Identity))
	})
}

// Write gives the file with these lines. An error names one that could not be read back.
func Write(lines []Line) ([]byte, error) {
	lines = slices.Clone(lines)
	order(lines)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%d\n", headMark, version)
	for _, l := range lines {
		b.WriteString(l.String() + "\n")
	}
	b.WriteString(lastLine + "\n")
	if _, err := Parse(b.Bytes(), nil); err != nil {
		return nil, fmt.Errorf("write a lock file: %w", err)
	}
	return b.Bytes(), nil
}

// A lineError says what is wrong in which line, from 1.
type lineError struct {
	Line int
	Err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *lineError) Unwrap() error { return e.Err }

// errVersion is wrapped where the text is of another version of the format.
var errVersion = errors.New("a lock file of another version")

// Parse reads a file, all of it or nothing. check looks at what only its callers know of a
// line, the recipe for one; nil: nothing is looked at.
func Parse(text []byte, check func(Line) error) ([]Line, error) {
	if len(text) > maxSize {
		return nil, fmt.Errorf("%d bytes: a lock file has %d at most", len(text), maxSize)
	}
	at := 0
	wrong := func(format string, args ...any) error {
		return &lineError{at, fmt.Errorf(format, args...)}
	}
	var lines []Line
	keys := map[string]int{} // line numbers
	ended := false
	for len(text) > 0 {
		at++
		row, rest, whole := bytes.Cut(text, []byte("\n"))
		text = rest
		switch {
		case conflict(row):
			return nil,
				wrong(
					"a conflict that git has left here (%.20q): resolve it, or take one side and run gnvcc export again", row)
		case !whole:
			return nil, wrong("it is cut off: the file ends within this line")
		case at == 1:
			if err := head(string(row)); err != nil {
				return nil, &lineError{at, err}
			}
			continue
		case ended:
			return nil, wrong("there is something behind the last line, which is %q", lastLine)
		case string(row) == lastLine:
			ended = true
			continue
		case len(row) > maxLine:
			return nil, wrong("%d bytes: a line has %d at most", len(row), maxLine)
		}
		l, err := parseLine(string(row))
		if err == nil && check != nil {
			err = check(l)
		}
		if err != nil {
			return nil, &lineError{at, err}
		}
		key := l.Key()
		if first := keys[key]; first > 0 {
			return nil, wrong("the kernel of line %d on the same GPU once more: one of the two has to go",
				first)
		}
		keys[key] = at
		lines = append(lines, l)
	}
	if at == 0 {
		return nil, errors.New("it is empty: a lock file begins with " + headMark + strconv.Itoa(version))
	}
	if !ended {
		return nil, wrong("it is cut off: the last line of a lock file is %q", lastLine)
	}
	return lines, nil
}

// Is reports whether a text is meant to be a lock file, damaged or not.
func Is(text []byte) bool { return bytes.HasPrefix(text, []byte(headMark)) || conflict(text) }

// conflict recognises what git leaves in a file that it could not merge.
func conflict(row []byte) bool {
	for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>", "|||||||"} {
		if bytes.HasPrefix(row, []byte(mark)) {
			return true
		}
	}
	return false
}

// head reads the first line.
func head(row string) error {
	got, ok := strings.CutPrefix(row, headMark)
	if !ok {
		return fmt.Errorf("no lock file: it begins with %.40q in place of %q", row,
			headMark+strconv.Itoa(version))
	}
	if got == strconv.Itoa(version) {
		return nil
	}
	if _, err := strconv.ParseUint(got, 10, 32); err != nil {
		return fmt.Errorf("no lock file: %.40q is no version", got)
	}
	return fmt.Errorf(
		"%w, %s; this gnvcc knows %d: use one gnvcc in a team, or run gnvcc export again", errVersion,
		got, version)
}
