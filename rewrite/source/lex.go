package source

// The lexer: preprocessed C++ as tokens, one pass over the bytes. Only the user's files are read;
// the text of headers is stepped over from line marker to line marker and becomes one token
// (foreign). Brackets are matched here, so that whoever reads the tokens can jump over a body.

import (
	"bytes"
	"fmt"
	"math"
	"slices"
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
	foreign       // a stretch of header text
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
	pos, n := 0, len(src)
	bol := true // only blanks since the line began
	add := func(k kind, from, to int) {
		u.tokens = append(u.tokens, token{uint32(from), uint32(to), -1, k})
	}
	for pos < n {
		if len(u.tokens) == cap(u.tokens) { // once or twice: as many as the text so far promises
			more := int(float64(len(u.tokens)) * min(8, 1.1*float64(n)/float64(pos+1)))
			u.tokens = slices.Grow(u.tokens, max(more-len(u.tokens), 1024))
		}
		c := src[pos]
		switch class[c] {
		case cSpace:
			pos++
			continue
		case cLetter:
			start := pos
			for pos++; pos < n && class[src[pos]] >= cLetter; pos++ {
			}
			bol = false
			if pos < n && (src[pos] == '"' || src[pos] == '\'') && pos-start <= 3 {
				switch string(src[start:pos]) {
				case "R", "u8R", "uR", "UR", "LR":
					if src[pos] == '"' {
						e := rawEnd(src, pos)
						if e < 0 {
							return u.fault(start, "a raw string without an end")
						}
						add(str, start, e)
						pos = e
						continue
					}
				case "L", "u", "U", "u8":
					e := quoteEnd(src, pos)
					if e < 0 {
						return u.fault(start, "a literal without an end")
					}
					k := str
					if src[pos] == '\'' {
						k = char
					}
					add(k, start, e)
					pos = e
					continue
				}
			}
			add(ident, start, pos)
			continue
		case cDigit:
			e := numberEnd(src, pos)
			add(number, pos, e)
			pos, bol = e, false
			continue
		}
		switch c {
		case '\n':
			pos++
			bol = true
			continue
		case '\\':
			next := continued(src, pos)
			switch {
			case next == pos:
				return u.fault(pos, "a stray backslash")
			case pos > 0 && next < n && !blank(src[pos-1]) && !blank(src[next]):
				// gcc -E joins them
				return u.fault(pos, "a line that goes on in the next one, maybe within a word")
			}
			pos = next
			continue
		case '#':
			if !bol {
				return u.fault(pos, "a # inside a line")
			}
			next, err := u.directive(pos)
			if err != nil {
				return err
			}
			pos = next
			continue
		case '"', '\'':
			e := quoteEnd(src, pos)
			if e < 0 {
				return u.fault(pos, "a literal without an end")
			}
			k := str
			if c == '\'' {
				k = char
			}
			add(k, pos, e)
			pos, bol = e, false
			continue
		case '.':
			if pos+1 < n && class[src[pos+1]] == cDigit {
				e := numberEnd(src, pos)
				add(number, pos, e)
				pos, bol = e, false
				continue
			}
		case '/': // comments are left in by gcc -C only
			if pos+1 < n && src[pos+1] == '/' {
				e := commentEnd(src, pos)
				if e < 0 {
					return u.fault(pos,
						"a comment that ends with a backslash and blanks: compilers differ on where it ends")
				}
				pos = e
				continue
			}
			if pos+1 < n && src[pos+1] == '*' {
				e := bytes.Index(src[pos+2:], []byte("*/"))
				if e < 0 {
					return u.fault(pos, "a comment without an end")
				}
				pos += e + 4
				continue
			}
		case '(', '[', '{':
			open = append(open, int32(len(u.tokens)))
			add(kind(c), pos, pos+1)
			pos++
			bol = false
			continue
		case ')', ']', '}':
			if len(open) == 0 {
				return u.fault(pos, fmt.Sprintf("a %c that nothing opened", c))
			}
			o := open[len(open)-1]
			open = open[:len(open)-1]
			if want := u.tokens[o].kind; want+1 != kind(c) && want+2 != kind(c) {
				return u.fault(pos, fmt.Sprintf("a %c where a %c is open", c, byte(want)))
			}
			u.tokens[o].match = int32(len(u.tokens))
			u.tokens = append(u.tokens, token{uint32(pos), uint32(pos + 1), o, kind(c)})
			pos++
			bol = false
			continue
		}
		bol = false
		k, size := punctuation(src[pos:])
		if size == 0 {
			return u.fault(pos, fmt.Sprintf("a byte %q that C++ has no use for, or a digraph", c))
		}
		add(k, pos, pos+size)
		pos += size
	}
	if len(open) > 0 {
		return u.fault(int(u.tokens[open[len(open)-1]].off), "a bracket that is never closed")
	}
	u.tokens = append(u.tokens, token{uint32(n), uint32(n), -1, end})
	return nil
}

// punctuation takes the longest operator at the start of s, > excepted: those stay single, for the
// sake of template arguments. Size 0: not an operator, or a digraph, which would hide brackets from
// us.
func punctuation(s []byte) (kind, int) {
	c := s[0]
	var d, e byte
	if len(s) > 1 {
		d = s[1]
	}
	if len(s) > 2 {
		e = s[2]
	}
	switch c {
	case ':':
		if d == ':' {
			return scope, 2
		}
		if d == '>' {
			return 0, 0
		}
		return kind(c), 1
	case '.':
		if d == '.' && e == '.' {
			return ellipsis, 3
		}
		if d == '*' {
			return operator, 2
		}
		return kind(c), 1
	case '-':
		if d == '>' {
			return arrow, 2
		}
		if d == '-' || d == '=' {
			return operator, 2
		}
		return kind(c), 1
	case '<':
		switch {
		case d == '<' && e == '=':
			return operator, 3
		case d == '<':
			return shiftL, 2
		case d == '=' && e == '>':
			return operator, 3
		case d == '=':
			return operator, 2
		case d == '%':
			return 0, 0
		case d == ':' && e != ':': // <: is [, but <:: is < ::
			return 0, 0
		}
		return kind(c), 1
	case '>':
		if d == '=' {
			return operator, 2
		}
		return kind(c), 1
	case '&', '|', '+':
		if d == c || d == '=' {
			return operator, 2
		}
		return kind(c), 1
	case '%':
		if d == '>' || d == ':' {
			return 0, 0
		}
		fallthrough
	case '*', '/', '^', '!', '=':
		if d == '=' {
			return operator, 2
		}
		return kind(c), 1
	case ';', ',', '?', '~':
		return kind(c), 1
	}
	return 0, 0
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
