package merge

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"gnvcc/rewrite/ptx"
)

// Line information. `.loc FILE LINE COLUMN` counts files by the module's own table, and with
// inlining (`, function_name LABEL+OFFSET, inlined_at FILE LINE COLUMN`) it points into the
// module's own .debug_str section. Both tables differ between two compiles of one source, so a
// statement that moves gets the numbers of its new home.

type lines struct {
	files  map[string]string // number -> name, with size and time where the line gives them
	number map[string]string // the other way
	label  map[string]string // of .debug_str: label -> text
	text   map[string]string // the other way
	debug  bool              // has debug sections beyond line information (-G)
}

var (
	fileLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t]*\.file[ \t]+(\d+)[ \t]+(.*?)[ \t]*$`)
	})
	debugStr = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)\.section[ \t]+\.debug_str\s*\{(.*?)\}`)
	})
	debugInfo = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\.section[ \t]+\.debug_(info|abbrev|loc|frame)\b`)
	})
	strLabel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([\w$]+):`) })
	strByte  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.b8\s+(\d+)`) })
	locName  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(\.loc|inlined_at|function_name)([ \t]+)([\w$]+\+?)`)
	})
)

func readLines(module []byte) *lines {
	l := &lines{files: map[string]string{}, number: map[string]string{}, label: map[string]string{},
		text: map[string]string{}}
	if !bytes.Contains(module, []byte(".file")) {
		return l
	}
	for _, m := range fileLine().FindAllSubmatch(module, -1) {
		l.files[string(m[1])] = string(m[2])
		l.number[string(m[2])] = string(m[1])
	}
	l.debug = debugInfo().Match(module)
	if m := debugStr().FindSubmatch(module); m != nil {
		name, text := "", []byte(nil)
		flush := func() {
			if name != "" {
				l.label[name] = string(text)
				l.text[string(text)] = name
			}
		}
		for _, line := range bytes.Split(m[1], []byte("\n")) {
			line = bytes.TrimSpace(line)
			if n := strLabel().FindSubmatch(line); n != nil {
				flush()
				name, text = string(n[1]), nil
				line = line[len(n[0]):]
			}
			for _, b := range strByte().FindAllSubmatch(line, -1) {
				if v, err := strconv.ParseUint(string(b[1]), 10, 8); err == nil {
					text = append(text, byte(v))
				}
			}
		}
		flush()
	}
	return l
}

// translate gives the text of a variant's function with the line numbers of this module. A line
// whose file or function this module does not know goes; nothing is executed differently for it.
func (l *lines) translate(f *ptx.Func, from *lines) ([]byte, error) {
	if l.debug || from.debug {
		return nil, fmt.Errorf("%s is built for debugging", f.Name)
	}
	if len(from.files) == 0 {
		return f.Text(), nil
	}
	g := f.Clone()
	text := g.Text()
	for i, s := range g.Stmts {
		if s.Kind != ptx.Line {
			continue
		}
		old := text[s.Start:s.End]
		known := true
		now := locName().ReplaceAllFunc(old, func(m []byte) []byte {
			p := locName().FindSubmatch(m)
			name, ok := l.number[from.files[string(p[3])]]
			if string(p[1]) == "function_name" { // one with an offset (+) is in no table
				name, ok = l.text[from.label[string(p[3])]]
			}
			known = known && ok
			return slices.Concat(p[1], p[2], []byte(name))
		})
		switch {
		case !known:
			g.Delete(i)
		case !bytes.Equal(now, old):
			g.Replace(i, string(now))
		}
	}
	if err := g.Commit(); err != nil {
		return nil, err
	}
	return g.Text(), nil
}
