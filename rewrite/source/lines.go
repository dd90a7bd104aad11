package source

// Line markers: `# 35 "a.cu" 3 4` says that the next line is line 35 of a.cu. They tell the user's
// files from headers, and after every edit one of them restores the position, so that line
// information, assert and messages stay right. Flags (GNU cpp): 1 a file begins, 2 back in a file,
// 3 system header, 4 extern "C".

import (
	"bytes"
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"
)

// A marker holds from its offset (the line behind it) to the next marker.
type marker struct {
	off   uint32
	line  int32
	file  int32
	flags string // "", " 3", " 3 4": what a restoring marker must repeat
}

// A file is a name that markers use.
type file struct {
	name   string // as the preprocessor knows it
	quoted string // as it stands in markers, with quotes
	header bool   // a system header or the toolkit's: not the user's
}

// directive reads the line at pos, which begins with #, and returns where to go on: behind it, or
// behind all the header text that it opens.
func (u *Unit) directive(pos int) (int, error) {
	src := u.text
	next := lineEnd(src, pos)
	m, isMarker := u.marker(src[pos:next], next)
	if !isMarker {
		stop := next
		if stop > pos && src[stop-1] == '\n' {
			stop--
		}
		if bytes.HasSuffix(bytes.TrimRight(src[pos:stop], " \t\r"), []byte("\\")) {
			return 0, u.fault(pos, "a directive that goes on in the next line")
		}
		u.tokens = append(u.tokens, token{uint32(pos), uint32(stop), -1, pragma})
		u.packed = u.packed || bytes.Contains(src[pos:stop], []byte("pack"))
		return next, nil
	}
	u.markers = append(u.markers, m)
	if !u.files[m.file].header {
		return next, nil
	}
	start := next
	// from marker to marker, not token by token: headers are nine tenths of the text
	for at := next; ; {
		if at >= len(src) {
			next = len(src)
			break
		}
		if src[at] != '#' {
			skip := bytes.Index(src[at:], []byte("\n#"))
			if skip < 0 {
				next = len(src)
				break
			}
			at += skip + 1
		}
		behind := lineEnd(src, at)
		if m, ok := u.marker(src[at:behind], behind); ok {
			u.markers = append(u.markers, m)
			if !u.files[m.file].header {
				next = behind
				break
			}
		}
		at = behind
	}
	u.tokens = append(u.tokens, token{uint32(start), uint32(next), -1, skipped})
	return next, nil
}

// lineEnd returns the offset behind the line that pos is in.
func lineEnd(src []byte, pos int) int {
	if i := bytes.IndexByte(src[pos:], '\n'); i >= 0 {
		return pos + i + 1
	}
	return len(src)
}

// marker reads `# 35 "a.cu" 3 4` or `#line 35 "a.cu"`; off is where the next line begins.
func (u *Unit) marker(line []byte, off int) (marker, bool) {
	i := 1
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	if bytes.HasPrefix(line[i:], []byte("line ")) {
		i += len("line ")
	}
	start := i
	for i < len(line) && line[i] >= '0' && line[i] <= '9' {
		i++
	}
	if start == i || i-start > 9 {
		return marker{}, false
	}
	m := marker{off: uint32(off)}
	for _, d := range line[start:i] {
		m.line = m.line*10 + int32(d-'0')
	}
	for i < len(line) && class[line[i]] == cSpace {
		i++
	}
	if (i >= len(line) || line[i] == '\n') && len(u.markers) > 0 { // # 35: the file stays what it was
		last := u.markers[len(u.markers)-1]
		m.file, m.flags = last.file, last.flags
		return m, true
	}
	if i >= len(line) || line[i] != '"' {
		return marker{}, false
	}
	e := quoteEnd(line, i)
	if e < 0 {
		return marker{}, false
	}
	quoted, flags := line[i:e], bytes.TrimSpace(line[e:])
	system := bytes.IndexByte(flags, '3') >= 0
	if system {
		m.flags = " 3"
		if bytes.IndexByte(flags, '4') >= 0 {
			m.flags = " 3 4"
		}
	}
	m.file = u.file(quoted, system)
	return m, true
}

// file returns the index of the file of that quoted name. Whether it is a header is settled where
// it first appears: a macro of a system header, expanded in the user's code, has markers with the
// user's file and flag 3.
func (u *Unit) file(quoted []byte, system bool) int32 {
	if n := len(u.files); n > 0 && u.last < int32(n) && u.files[u.last].quoted == string(quoted) {
		return u.last
	}
	if i, ok := u.fileIndex[string(quoted)]; ok {
		u.last = i
		return i
	}
	f := file{quoted: string(quoted)}
	name, err := strconv.Unquote(f.quoted)
	if err != nil { // an escape that C has and Go has not
		name = f.quoted[1 : len(f.quoted)-1]
	}
	f.name = name
	if u.toolkit == "" && path.Base(name) == "cuda_runtime.h" && len(u.files) > 0 {
		// nvcc includes it before everything else: its folder is the toolkit's.
		u.toolkit = path.Dir(path.Clean(name)) + "/"
	}
	f.header = system || strings.HasPrefix(name, "<") ||
		u.toolkit != "" && strings.HasPrefix(path.Clean(name), u.toolkit)
	if len(u.files) == 0 { // the first marker names the translation unit itself
		f.header = false
	}
	i := int32(len(u.files))
	u.files = append(u.files, f)
	u.fileIndex[f.quoted] = i
	u.last = i
	return i
}

// A position is a place in the user's own files.
type position struct {
	file   int32 // -1: before the first marker
	line   int
	column int // bytes since the line began, from 0
	flags  string
}

// at tells which line of which file an offset of the text belongs to.
func (u *Unit) at(off int) position {
	i := sort.Search(len(u.markers), func(i int) bool { return int(u.markers[i].off) > off }) - 1
	p := position{file: -1, line: 1}
	from := 0
	if i >= 0 {
		m := u.markers[i]
		p.file, p.line, p.flags, from = m.file, int(m.line), m.flags, int(m.off)
	}
	p.line += bytes.Count(u.text[from:off], []byte{'\n'})
	p.column = off - (bytes.LastIndexByte(u.text[:off], '\n') + 1)
	return p
}

// place is at for people: file:line.
func (u *Unit) place(off int) string {
	p := u.at(off)
	if p.file < 0 {
		return fmt.Sprintf("line %d", p.line)
	}
	return fmt.Sprintf("%s:%d", u.files[p.file].name, p.line)
}

// fault is an error of the reader, with the user's own place.
func (u *Unit) fault(off int, what string) error {
	return fmt.Errorf("source: reading the preprocessed text at %s: %s", u.place(off), what)
}
