package lock

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gnvcc/cache"
)

// Reading a line: fields in their order, and in the end the line must be what would be written.

// A field is one of a line's, as it is written and read.
type field struct {
	name string
	text func(l *Line) *string // a text; in quotes where quoted is set
	// of other values: how it is written, and why it can't be read, "" where it was
	write  func(l *Line) string
	read   func(l *Line, text string) string
	quoted bool
}

// lineFields are a line's fields in their order; any number of normal ones follow.
var lineFields = []field{
	{name: "kernel", quoted: true, text: func(l *Line) *string { return &l.Kernel }},
	{name: "device", quoted: true, text: func(l *Line) *string { return &l.Device }},
	{name: "target", text: func(l *Line) *string { return &l.Target }},
	{name: "ptxas", text: func(l *Line) *string { return &l.Ptxas }},
	{name: "recipe", quoted: true, text: func(l *Line) *string { return &l.Recipe }},
	{name: "exact", text: func(l *Line) *string { return &l.Exact }},
	{name: "checks", write: func(l *Line) string { return fmt.Sprintf("%d+%d", l.Checks, l.Varied) },
		read: func(l *Line, text string) string {
			checks, varied, ok := strings.Cut(text, "+")
			var err, also error
			l.Checks, err = strconv.Atoi(checks)
			l.Varied, also = strconv.Atoi(varied)
			if !ok || errors.Join(err, also) != nil || l.Checks < 0 || l.Varied < 0 {
				return "no two numbers of launches, like 5+2"
			}
			return ""
		}},
	{name: "gain", write: func(l *Line) string { return strconv.FormatFloat(l.Gain, 'f', 3, 64) }, // as is measured
		read: func(l *Line, text string) (wrong string) {
			var err error
			if l.Gain, err = strconv.ParseFloat(text, 64); err != nil || !(l.Gain >= 0) || math.IsInf(l.Gain, 0) {
				return "no number from 0 on"
			}
			return ""
		}},
	{name: "time", write: func(l *Line) string { return l.Time.UTC().Format(time.RFC3339) },
		read: func(l *Line, text string) (wrong string) {
			var err error
			if l.Time, err = time.Parse(time.RFC3339, text); err != nil {
				return "none like 2026-11-21T10:00:00Z"
			}
			return ""
		}},
	{name: "gnvcc", quoted: true, text: func(l *Line) *string { return &l.Gnvcc }},
	{name: "identity", text: func(l *Line) *string { return &l.Identity }},
	{name: "code", text: func(l *Line) *string { return &l.Code }},
}

// String is the line without its end.
func (l Line) String() string {
	var fields []string
	for _, f := range lineFields {
		switch {
		case f.quoted:
			fields = append(fields, f.name+"="+strconv.QuoteToASCII(*f.text(&l)))
		case f.text != nil:
			fields = append(fields, f.name+"="+*f.text(&l))
		default:
			fields = append(fields, f.name+"="+f.write(&l))
		}
	}
	for _, n := range l.Normals {
		fields = append(fields, "normal="+strconv.QuoteToASCII(n.Variant)+" "+n.Hash)
	}
	return strings.Join(fields, " ")
}

// take takes a field's value off the front of what is left of a line.
func take(rest, name string, quoted bool) (value, after string, err error) {
	rest, ok := strings.CutPrefix(rest, name+"=")
	if !ok {
		return "", "", fmt.Errorf("expected %s= at %.40q", name, rest)
	}
	if !quoted {
		value, _, _ = strings.Cut(rest, " ")
		after, err = space(rest[len(value):], name)
		return value, after, err
	}
	prefix, err := strconv.QuotedPrefix(rest)
	if err != nil || prefix[0] != '"' {
		return "", "", fmt.Errorf("%s is a text in quotes, and %.40q is none", name, rest)
	}
	value, err = strconv.Unquote(prefix)
	if err != nil || !utf8.ValidString(value) || strings.ContainsFunc(value, func(c rune) bool {
		return !unicode.IsPrint(c)
	}) {
		return "", "", fmt.Errorf("%s is %.40s: no readable text", name, prefix)
	}
	after, err = space(rest[len(prefix):], name)
	return value, after, err
}

// space takes the space behind a field off, if the line goes on.
func space(rest, name string) (string, error) {
	after, ok := strings.CutPrefix(rest, " ")
	if rest != "" && (!ok || after == "") {
		return "", fmt.Errorf("expected one space after %s, at %.40q", name, rest)
	}
	return after, nil
}

// parseLine reads one decision.
func parseLine(row string) (l Line, err error) {
	rest, value := row, ""
	for _, f := range lineFields {
		if value, rest, err = take(rest, f.name, f.quoted); err != nil {
			return l, err
		}
		if f.text != nil {
			*f.text(&l) = value
		} else if wrong := f.read(&l, value); wrong != "" {
			return l, fmt.Errorf("%s=%.40s is %s", f.name, value, wrong)
		}
	}
	for rest != "" {
		n := Normal{}
		if n.Variant, rest, err = take(rest, "normal", true); err != nil {
			return l, err
		}
		n.Hash, _, _ = strings.Cut(rest, " ")
		if rest, err = space(rest[len(n.Hash):], "normal"); err != nil {
			return l, err
		}
		l.Normals = append(l.Normals, n)
	}
	if err := l.check(); err != nil {
		return l, err
	}
	if again := l.String(); again != row {
		return l, fmt.Errorf("it is not written as gnvcc export writes it, from byte %d on", differ(again, row))
	}
	return l, nil
}

// check says what no line has.
func (l *Line) check() error {
	switch {
	case l.Kernel == "":
		return errors.New("kernel= has no name")
	case !plain(l.Target, "_"):
		return fmt.Errorf("target=%.40s is none like sm_90", l.Target)
	case !plain(l.Ptxas, "."):
		return fmt.Errorf("ptxas=%.40s is no version like 13.0.88", l.Ptxas)
	case l.Exact == "approximate":
		return errors.New(
			"exact=approximate: approximate recipes are per user, and never in a lock file")
	case !slices.Contains(levels, l.Exact):
		return fmt.Errorf("exact=%.40s is none of %s", l.Exact, strings.Join(levels, ", "))
	case !hash(l.Identity, 64):
		return errors.New("identity= is no hash of 64 digits")
	case l.Recipe == "" && (l.Code != NoCode || len(l.Normals) > 0):
		return errors.New("code without a recipe")
	case l.Recipe != "" && !hash(l.Code, 32):
		return errors.New("code= is no hash of 32 digits")
	}
	for i, n := range l.Normals {
		if n.Variant == "" || n.Variant == cache.CodeKey || !hash(n.Hash, 32) {
			return errors.New(`normal= is no "VARIANT" and a hash of 32 digits`)
		}
		if i > 0 && n.Variant <= l.Normals[i-1].Variant {
			return fmt.Errorf("normal=%q is not in order, or there twice", n.Variant)
		}
	}
	return nil
}

// plain reports whether a word has letters, digits, and some other characters.
func plain(word, others string) bool {
	return word != "" && len(word) < 64 && !strings.ContainsFunc(word, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune(others, c))
	})
}

// hash reports whether a word is n hexadecimal digits, in lower case.
func hash(word string, n int) bool {
	return len(word) == n && strings.Trim(word, "0123456789abcdef") == ""
}

// differ is the first byte, from 1, in which two texts differ.
func differ(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i + 1
}
