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

// A fields is what is left of a line.
type fields struct {
	text string
	err  error // the first
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// name takes NAME= off.
func (f *fields) name(name string) bool {
	rest, ok := strings.CutPrefix(f.text, name+"=")
	if f.err != nil || !ok {
		f.fail("expected %s= at %.40q", name, f.text)
		return false
	}
	f.text = rest
	return true
}

// space takes the space behind a field off, if the line goes on.
func (f *fields) space(name string) {
	if f.err != nil || f.text == "" {
		return
	}
	rest, ok := strings.CutPrefix(f.text, " ")
	if !ok || rest == "" {
		f.fail("expected one space after %s, at %.40q", name, f.text)
	}
	f.text = rest
}

// word takes what reaches to the next space.
func (f *fields) word(name string) string {
	if !f.name(name) {
		return ""
	}
	word, _, _ := strings.Cut(f.text, " ")
	f.text = f.text[len(word):]
	f.space(name)
	return word
}

// quoted takes a text in quotes, as Go's source has it.
func (f *fields) quoted(name string) string {
	if !f.name(name) {
		return ""
	}
	prefix, err := strconv.QuotedPrefix(f.text)
	if err != nil || prefix[0] != '"' {
		f.fail("%s is a text in quotes, and %.40q is none", name, f.text)
		return ""
	}
	value, err := strconv.Unquote(prefix)
	if err != nil || !utf8.ValidString(value) || strings.ContainsFunc(value, func(c rune) bool {
		return !unicode.IsPrint(c)
	}) {
		f.fail("%s is %.40s: no readable text", name, prefix)
		return ""
	}
	f.text = f.text[len(prefix):]
	f.space(name)
	return value
}

// parseLine reads one decision.
func parseLine(row string) (Line, error) {
	f := &fields{text: row}
	l := Line{Kernel: f.quoted("kernel"), Device: f.quoted("device"), Target: f.word("target"),
		Ptxas:  f.word("ptxas"),
		Recipe: f.quoted("recipe"), Exact: f.word("exact")}
	l.checks(f, f.word("checks"))
	l.gain(f, f.word("gain"))
	when := f.word("time")
	l.Gnvcc, l.Identity, l.Code = f.quoted("gnvcc"), f.word("identity"), f.word("code")
	for f.err == nil && f.text != "" {
		n := Normal{Variant: f.quoted("normal")}
		n.Hash, _, _ = strings.Cut(f.text, " ")
		f.text = f.text[len(n.Hash):]
		f.space("normal")
		l.Normals = append(l.Normals, n)
	}
	if f.err == nil {
		var err error
		if l.Time, err = time.Parse(time.RFC3339, when); err != nil {
			f.fail("time=%.40s is none like 2026-11-21T10:00:00Z", when)
		}
	}
	if f.err != nil {
		return l, f.err
	}
	if err := l.check(); err != nil {
		return l, err
	}
	if again := l.String(); again != row {
		return l, fmt.Errorf("it is not written as gnvcc export writes it, from byte %d on",
			differ(again, row))
	}
	return l, nil
}

// checks reads 5+2.
func (l *Line) checks(f *fields, text string) {
	checks, varied, ok := strings.Cut(text, "+")
	var err, also error
	l.Checks, err = strconv.Atoi(checks)
	l.Varied, also = strconv.Atoi(varied)
	if !ok || errors.Join(err, also) != nil || l.Checks < 0 || l.Varied < 0 {
		f.fail("checks=%.40s is no two numbers of launches, like 5+2", text)
	}
}

func (l *Line) gain(f *fields, text string) {
	gain, err := strconv.ParseFloat(text, 64)
	if err != nil || !(gain >= 0) || math.IsInf(gain, 0) {
		f.fail("gain=%.40s is no number from 0 on", text)
	}
	l.Gain = gain
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

// plain tells whether a word has letters, digits, and some other characters.
func plain(word, others string) bool {
	return word != "" && len(word) < 64 && !strings.ContainsFunc(word, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune(others, c))
	})
}

// hash tells whether a word is n hexadecimal digits, in lower case.
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
