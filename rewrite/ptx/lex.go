package ptx

import (
	"bytes"
	"fmt"
)

// The lexer: one table of byte classes and a cursor. Statements are found by position only; no
// token is ever stored, which is what makes reading fast (the PTX ISA's "Syntax" chapter has the
// rules).

const (
	clSpace = 1 << iota // blank, tab, line ends
	clFirst             // may begin a name: letter _ $ %
	clName              // may follow in a name: letter digit _ $
	clDigit
	clStop // what ends or complicates a statement: ; { } " /
)

var class = func() (t [256]uint8) {
	for _, c := range " \t\r\n\f\v" {
		t[c] |= clSpace
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= clFirst | clName
		t[c-'a'+'A'] |= clFirst | clName
	}
	for c := '0'; c <= '9'; c++ {
		t[c] |= clName | clDigit
	}
	for _, c := range "_$" {
		t[c] |= clFirst | clName
	}
	t['%'] |= clFirst
	for _, c := range ";{}\"/" {
		t[c] |= clStop
	}
	return t
}()

// A SyntaxError says where and why a text is not PTX that this package reads.
type SyntaxError struct {
	Line int // from 1
	Msg  string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("ptx: line %d: %s", e.Line, e.Msg) }

// fail makes the error for an offset; only then are lines counted.
func fail(src []byte, at int, format string, args ...any) error {
	if at > len(src) {
		at = len(src)
	}
	return &SyntaxError{Line: 1 + bytes.Count(src[:at], []byte("\n")), Msg: fmt.Sprintf(format,
		args...)}
}

// skip returns the offset of the first byte at or behind i that is neither white space nor comment.
// An unclosed block comment runs to the end, which every caller reports as an unexpected end.
func skip(b []byte, i int) int {
	for i < len(b) {
		c := b[i]
		switch {
		case class[c]&clSpace != 0:
			i++
		case c == '/' && i+1 < len(b) && b[i+1] == '/':
			n := bytes.IndexByte(b[i:], '\n')
			if n < 0 {
				return len(b)
			}
			i += n + 1
		case c == '/' && i+1 < len(b) && b[i+1] == '*':
			n := bytes.Index(b[i+2:], []byte("*/"))
			if n < 0 {
				return len(b)
			}
			i += n + 4
		default:
			return i
		}
	}
	return i
}

// name returns the end of the name that begins at i, or i where none does.
func name(b []byte, i int) int {
	if i >= len(b) || class[b[i]]&clFirst == 0 {
		return i
	}
	for i++; i < len(b) && class[b[i]]&clName != 0; i++ {
	}
	return i
}

// word returns the end of an opcode or directive that begins at i: names joined by '.' and "::",
// such as cp.async.bulk.shared::cluster.global or .maxntid.
func word(b []byte, i int) int {
	for i < len(b) {
		c := b[i]
		switch {
		case class[c]&clName != 0 || c == '.':
			i++
		case c == ':' && i+2 < len(b) && b[i+1] == ':' && class[b[i+2]]&clName != 0:
			i += 2
		default:
			return i
		}
	}
	return i
}

// quoted returns the offset behind the string that begins at i, or -1 where it does not end on its
// line. There are no escapes in PTX: `.file 1 "a\"` is whole (tried on ptxas 13.5).
func quoted(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '\n'; i++ {
		if b[i] == '"' {
			return i + 1
		}
	}
	return -1
}

// semicolon returns the offset behind the ';' that ends the statement around i. Braces within must
// balance, so that a lost ';' is an error at once and does not swallow the next statement's scope.
func semicolon(b []byte, i int) (int, error) { return ending(b, i, ';') }

// block returns the offset behind the '}' that closes the '{' at i; strings and comments inside are
// skipped.
func block(b []byte, i int) (int, error) { return ending(b, i, '}') }

func ending(b []byte, i int, stop byte) (int, error) {
	start, depth := i, 0
	for i < len(b) {
		c := b[i]
		i++
		if class[c]&clStop == 0 {
			continue
		}
		switch c {
		case ';':
			if c == stop && depth != 0 {
				return 0, fail(b, i-1, "';' inside braces")
			} else if c == stop {
				return i, nil
			}
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				return 0, fail(b, i-1, "'}' where a ';' should end the statement of line %d",
					1+bytes.Count(b[:start], []byte("\n")))
			} else if c == stop && depth == 0 {
				return i, nil
			}
		case '"':
			n := quoted(b, i-1)
			if n < 0 {
				return 0, fail(b, i-1, "a string without its end")
			}
			i = n
		default: // '/'
			i = max(skip(b, i-1), i)
		}
	}
	if stop == ';' {
		return 0, fail(b, start, "the file ends inside a statement")
	}
	return 0, fail(b, start, "'{' without its '}'")
}

// line returns the offset of the line end (or the end of the text) that ends a .loc or .file,
// minding strings.
func line(b []byte, i int) (int, error) {
	for ; i < len(b) && b[i] != '\n'; i++ {
		if b[i] == '"' {
			n := quoted(b, i)
			if n < 0 {
				return 0, fail(b, i, "a string without its end")
			}
			i = n - 1
		}
	}
	if i > 0 && i <= len(b) && b[i-1] == '\r' {
		i--
	}
	return i, nil
}
