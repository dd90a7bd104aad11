package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A file: lines of TOML, each a key of Settings with a text, a number, true or false.
//
//	# of this project
//	lock = "gnvcc.lock"
//	predict = true
//
// Tables and lists have no meaning here, and are errors.

// A Value is what a file says of one setting, as the variable has it.
type Value struct {
	Key, Text string
	File      string
	Line      int
}

// maxFile bounds a file, bytes.
const maxFile = 64 << 10

// parse reads a file's text. project: it came with a source.
func parse(path, text string, project bool) (list []Value, err error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s is no file of settings: %d bytes", path, len(text))
	}
	for i, line := range strings.Split(text, "\n") {
		v, err := parseLine(path, strings.TrimSpace(line), project)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		if v.Key == "" {
			continue
		}
		if slices.ContainsFunc(list, func(x Value) bool { return x.Key == v.Key }) {
			return nil, fmt.Errorf("%s:%d: %s is set twice", path, i+1, v.Key)
		}
		v.File, v.Line = path, i+1
		list = append(list, v)
	}
	return list, nil
}

// parseLine reads one line; no key: there is nothing on it.
func parseLine(path, line string, project bool) (v Value, err error) {
	if line == "" || line[0] == '#' {
		return v, nil
	}
	key, rest, ok := strings.Cut(line, "=")
	key = strings.TrimSpace(key)
	if !ok {
		return v, fmt.Errorf("%q: expected key = value", line)
	}
	s, ok := settingOf(key)
	if !ok {
		var keys []string
		for _, s := range Settings {
			keys = append(keys, s.Key)
		}
		return v, fmt.Errorf("unknown setting %q (there are %s)", key, strings.Join(keys, ", "))
	}
	if project && !slices.Contains(OfProjects, key) {
		return v, fmt.Errorf(
			"%s is for your own file (~/.config/gnvcc/gnvcc.toml) or the environment: a project's says what its builds depend on: %s",
			key, strings.Join(OfProjects, ", "))
	}
	text, isText, err := value(strings.TrimSpace(rest))
	if err != nil {
		return v, fmt.Errorf("%s: %w", key, err)
	}
	v.Key = key
	v.Text, err = s.variable(text, isText, filepath.Dir(path))
	return v, err
}

// value reads what stands behind the sign: a text in quotes, or a word. A comment may follow.
func value(rest string) (text string, isText bool, err error) {
	end := func(after string) error {
		if after = strings.TrimSpace(after); after != "" && after[0] != '#' {
			return fmt.Errorf("%q stands behind the value", after)
		}
		return nil
	}
	switch {
	case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, "'''"):
		return "", false, errors.New("texts of several lines have no meaning here")
	case strings.HasPrefix(rest, "'"):
		text, after, ok := strings.Cut(rest[1:], "'")
		if !ok {
			return "", false, errors.New("a quote is not closed")
		}
		return text, true, end(after)
	case strings.HasPrefix(rest, `"`):
		quoted, err := strconv.QuotedPrefix(rest)
		if err == nil {
			text, err = strconv.Unquote(quoted)
		}
		if err != nil {
			return "", false, errors.New("a quote is not closed, or a backslash means nothing")
		}
		return text, true, end(rest[len(quoted):])
	}
	word, _, _ := strings.Cut(rest, "#")
	word = strings.TrimSpace(word)
	if _, err := strconv.ParseInt(word, 10, 64); err == nil || word == "true" || word == "false" {
		return word, false, nil
	}
	return "", false, fmt.Errorf("%q: expected a text in quotes, a number, true or false", word)
}

// variable is a value as the environment has it; dir is the file's folder.
func (s setting) variable(text string, isText bool, dir string) (string, error) {
	if strings.ContainsFunc(text, unicode.IsControl) { // verbs print it: it must not steer a terminal
		return "", fmt.Errorf("%s: a line break or another control character in it", s.Key)
	}
	switch s.kind {
	case aSwitch:
		switch {
		case !isText && (text == "true" || text == "1"):
			return "1", nil
		case !isText && (text == "false" || text == "0"):
			return "0", nil
		}
		return "", fmt.Errorf("%s: expected true or false", s.Key)
	case aText:
		return text, nil
	}
	if !isText {
		if s.Key == "lock" && (text == "0" || text == "false") {
			return "0", nil
		}
		return "", fmt.Errorf("%s: expected a path in quotes", s.Key)
	}
	parts := []string{text}
	if s.kind == somePaths {
		parts = strings.Split(text, ":")
	}
	for i, p := range parts {
		switch {
		case p == "" || s.Key == "lock" && p == "0":
		case strings.HasPrefix(p, "~/"):
			parts[i] = filepath.Join(os.Getenv("HOME"), p[2:])
		case s.Key == "nvcc" && !strings.Contains(p, "/"): // looked for in PATH
		case !filepath.IsAbs(p):
			parts[i] = filepath.Join(dir, p)
		}
	}
	return strings.Join(parts, ":"), nil
}
