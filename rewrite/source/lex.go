package source

// The lexer: preprocessed C++ as tokens, one pass over the bytes. Only the user's files are read;
// the text of headers is stepped over from line marker to line marker and becomes one token
// (skipped). Brackets are matched here, so that whoever reads the tokens can jump over a body.

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A kind is what a token is. Punctuation of one byte is its own kind.
type kind uint8

const (
	end      kind = iota
	ident         // identifiers and keywords
	number        // pp-numbers, digit separators included
	str           // string literals, raw ones and prefixes included
	char          // character literals
	pragma        // a directive line: #pragma, #ident
	skipped       // a stretch of header text
	operator      // operators of several bytes that nobody here asks about
	scope         // ::
	arrow         // ->
	ellipsis      // ...
	shiftL        // <<
)

// A token is a piece of the text. It has no text of its own: Unit.str gives that.
type token struct {
	off, end uint32
	match    int32 // for ( [ { and their closers: the partner's index, else -1
	kind     kind
}

// Classes of bytes, so that the loop asks a table and not a chain of comparisons.
const (
	cOther  = iota
	cSpace  // blank, tab, carriage return, form feed, vertical tab
	cLetter // letters, _, $, bytes from 0x80: what an identifier begins with
	cDigit
)

var class = func() (t [256]uint8) {
	for _, b := range " \t\r\f\v" {
		t[b] = cSpace
	}
	for b := range 256 {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b == '_', b == '$', b >= 0x80:
			t[b] = cLetter
		case b >= '0' && b <= '9':
			t[b] = cDigit
		}
	}
	return t
}()

// lex fills tokens, markers and files.
func (u *Unit) lex() error {
	src := u.text
	if len(src) > math.MaxInt32 {
		return fmt.Errorf("source: %d bytes of preprocessed text are more than this reader takes",
			len(src))
	}
	u.tokens = make([]token, 0, 1024+len(src)/32)
	var open []int32
	var err error
	bol := true // only blanks since the line began
	for pos, n := 0, len(src); pos < n; {
		if len(u.tokens) == cap(u.tokens) { // once or twice: as many as the text so far promises
			more := int(float64(len(u.tokens)) * min(8, 1.1*float64(n)/float64(pos+1)))
			u.tokens = slices.Grow(u.tokens, max(more-len(u.tokens), 1024))
		}
		from, c := pos, src[pos]
		switch {
		case class[c] == cSpace:
			pos++
			continue
		case class[c] == cLetter:
			pos, err = u.word(pos)
		case class[c] == cDigit, c == '.' && pos+1 < n && class[src[pos+1]] == cDigit:
			pos = numberEnd(src, pos)
			u.add(number, from, pos)
		case c == '\n':
			pos++
			bol = true
			continue
		case c == '\\':
			if pos, err = u.splice(pos); err != nil {
				return err
			}
			continue
		case c == '#' && !bol:
			return u.fault(pos, "a # inside a line")
		case c == '#':
			if pos, err = u.directive(pos); err != nil {
				return err
			}
			continue
		case c == '"', c == '\'':
			pos, err = u.quoted(pos, pos)
		case c == '/' && pos+1 < n && (src[pos+1] == '/' || src[pos+1] == '*'):
			if pos, err = u.comment(pos); err != nil {
				return err
			}
			continue
		case c == '(', c == '[', c == '{', c == ')', c == ']', c == '}':
			pos++
			open, err = u.bracket(open, from)
		default:
			k, size := punctuation(src[pos:])
			if size == 0 {
				return u.fault(pos, fmt.Sprintf("a byte %q that C++ has no use for, or a digraph", c))
			}
			pos += size
			u.add(k, from, pos)
		}
		if err != nil {
			return err
		}
		bol = false
	}
	if len(open) > 0 {
		return u.fault(int(u.tokens[open[len(open)-1]].off), "a bracket that is never closed")
	}
	u.add(end, len(src), len(src))
	return nil
}

func (u *Unit) add(k kind, from, to int) {
	u.tokens = append(u.tokens, token{uint32(from), uint32(to), -1, k})
}

// word reads an identifier, or a literal with a prefix, and gives the index behind it.
func (u *Unit) word(start int) (int, error) {
	src, pos := u.text, start+1
	for pos < len(src) && class[src[pos]] >= cLetter {
		pos++
	}
	if pos < len(src) && (src[pos] == '"' || src[pos] == '\'') && pos-start <= 3 {
		switch string(src[start:pos]) {
		case "R", "u8R", "uR", "UR", "LR":
			if src[pos] == '"' {
				e := rawEnd(src, pos)
				if e < 0 {
					return 0, u.fault(start, "a raw string without an end")
				}
				u.add(str, start, e)
				return e, nil
			}
		case "L", "u", "U", "u8":
			return u.quoted(start, pos)
		}
	}
	u.add(ident, start, pos)
	return pos, nil
}

// quoted reads a literal that begins at start, its quotation mark at pos.
func (u *Unit) quoted(start, pos int) (int, error) {
	e := quoteEnd(u.text, pos)
	if e < 0 {
		return 0, u.fault(start, "a literal without an end")
	}
	k := str
	if u.text[pos] == '\'' {
		k = char
	}
	u.add(k, start, e)
	return e, nil
}

// splice reads a backslash that continues its line.
func (u *Unit) splice(pos int) (int, error) {
	src, next := u.text, continued(u.text, pos)
	switch {
	case next == pos:
		return 0, u.fault(pos, "a stray backslash")
	case pos > 0 && next < len(src) && !blank(src[pos-1]) && !blank(src[next]):
		// gcc -E joins them
		return 0, u.fault(pos, "a line that goes on in the next one, maybe within a word")
	}
	return next, nil
}

// comment reads one of either kind: gcc -C leaves them in.
func (u *Unit) comment(pos int) (int, error) {
	if u.text[pos+1] == '/' {
		e := commentEnd(u.text, pos)
		if e < 0 {
			return 0, u.fault(pos,
				"a comment that ends with a backslash and blanks: compilers differ on where it ends")
		}
		return e, nil
	}
	e := bytes.Index(u.text[pos+2:], []byte("*/"))
	if e < 0 {
		return 0, u.fault(pos, "a comment without an end")
	}
	return pos + e + 4, nil
}

// bracket reads one that opens or closes; open are the tokens that are open.
func (u *Unit) bracket(open []int32, pos int) ([]int32, error) {
	c := u.text[pos]
	at := int32(len(u.tokens))
	u.add(kind(c), pos, pos+1)
	if c == '(' || c == '[' || c == '{' {
		return append(open, at), nil
	}
	if len(open) == 0 {
		return nil, u.fault(pos, fmt.Sprintf("a %c that nothing opened", c))
	}
	o := open[len(open)-1]
	if want := u.tokens[o].kind; want+1 != kind(c) && want+2 != kind(c) {
		return nil, u.fault(pos, fmt.Sprintf("a %c where a %c is open", c, byte(want)))
	}
	u.tokens[o].match, u.tokens[at].match = at, o
	return open[:len(open)-1], nil
}

// operators are those of several bytes, with the bytes that are taken of each: > excepted, which stays
// single for the sake of template arguments. None is taken of digraphs, which would hide brackets from
// us, and one of <::, which is < and ::.
var operators = map[string]struct {
	kind kind
	size int
}{"::": {scope, 2}, "->": {arrow, 2}, "...": {ellipsis, 3}, "<<": {shiftL, 2}, "<::": {'<', 1},
	"<:": {}, "<%": {}, ":>": {}, "%>": {}, "%:": {}}

func init() {
	for _, s := range strings.Fields(".* -- -= <<= <=> <= >= && &= || |= ++ += %= *= /= ^= != ==") {
		operators[s] = struct {
			kind kind
			size int
		}{operator, len(s)}
	}
}

// punctuation takes the longest operator at the start of s. Size 0: not an operator, or a digraph.
func punctuation(s []byte) (kind, int) {
	for n := min(3, len(s)); n > 1; n-- {
		if o, is := operators[string(s[:n])]; is {
			return o.kind, o.size
		}
	}
	if strings.IndexByte(":.-<>&|+%*/^!=;,?~", s[0]) < 0 {
		return 0, 0
	}
	return kind(s[0]), 1
}

// continued returns the offset behind the backslash at pos and the end of its line, pos where
// anything else follows.
func continued(src []byte, pos int) int {
	switch rest := src[pos+1:]; {
	case bytes.HasPrefix(rest, []byte("\n")):
		return pos + 2
	case bytes.HasPrefix(rest, []byte("\r\n")):
		return pos + 3
	}
	return pos
}

func blank(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

// commentEnd returns the offset of the end of the line that a comment begun by // at pos ends with:
// one that ends with a backslash goes on. -1 where blanks stand behind that.
func commentEnd(src []byte, pos int) int {
	for {
		e := bytes.IndexByte(src[pos:], '\n')
		if e < 0 {
			return len(src)
		}
		line := bytes.TrimSuffix(src[pos:pos+e], []byte("\r"))
		bare := bytes.TrimRight(line, " \t\r\f\v")
		switch {
		case !bytes.HasSuffix(bare, []byte("\\")):
			return pos + e
		case len(bare) < len(line):
			return -1
		}
		pos += e + 1
	}
}

// quoteEnd returns the offset behind the string or character literal whose quote stands at pos, -1
// if its line ends first.
func quoteEnd(src []byte, pos int) int {
	q := src[pos]
	for i := pos + 1; i < len(src); i++ {
		switch src[i] {
		case q:
			return i + 1
		case '\\':
			i++
		case '\n':
			return -1
		}
	}
	return -1
}

// rawEnd returns the offset behind the raw string literal whose quote stands at pos, -1 if there is
// none.
func rawEnd(src []byte, pos int) int {
	for i := pos + 1; i < len(src) && i <= pos+17; i++ { // a delimiter has at most 16 characters
		switch src[i] {
		case '(':
			stop := append(append([]byte{')'}, src[pos+1:i]...), '"')
			e := bytes.Index(src[i:], stop)
			if e < 0 {
				return -1
			}
			return i + e + len(stop)
		case ')', '\\', ' ', '\n', '"':
			return -1
		}
	}
	return -1
}

// numberEnd returns the offset behind the pp-number at pos: 1'000, 0x1.8p-3f, 1e+5 are one each.
func numberEnd(src []byte, pos int) int {
	for i := pos + 1; ; i++ {
		if i >= len(src) {
			return i
		}
		c := src[i]
		switch {
		case class[c] >= cLetter || c == '.':
		case c == '\'' && i+1 < len(src) && class[src[i+1]] >= cLetter:
		case (c == '+' || c == '-') && (src[i-1]|0x20 == 'e' || src[i-1]|0x20 == 'p'):
		default:
			return i
		}
	}
}
