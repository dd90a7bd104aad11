package lowered

// Bytes to tokens. Words are numbered: reaching is a matter of numbers then.

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

type kind uint8

const (
	word kind = iota
	number
	literal
	pragma // #pragma ...
	// every other token is one byte of punctuation, and its kind is that byte
)

// A token is a piece of the text. What stands between tokens are blanks, comments, and directives
// that say nothing to us.
type token struct {
	off, end int32
	n        int32 // word: its number; bracket: the index of its partner
	kind     kind
}

var class = func() (c [256]byte) {
	for i := range c {
		switch b := byte(i); {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b == '_', b == '$', b >= 0x80, b == '\\':
			c[i] = 'a' // a backslash begins \u00e9
		case b >= '0' && b <= '9':
			c[i] = '0'
		case b == ' ' || b == '\t' || b == '\r' || b == '\f' || b == '\v':
			c[i] = ' '
		case b == '\n', b == '"', b == '\'', b == '#', b == '/':
			c[i] = b
		}
	}
	return c
}()

// lex fills u.tokens.
func (u *Unit) lex() error {
	src := u.text
	u.tokens = make([]token, 0, len(src)/5+1)
	var open []int32
	fresh := true // nothing but blanks stands before this on the line
	for i := 0; i < len(src); {
		start := i
		c := class[src[i]]
		switch c {
		case ' ':
			i++
			continue
		case '\n':
			i++
			fresh = true
			continue
		case '#':
			i = lineEnd(src, i)
			if !fresh {
				return u.fault(start, "a # inside a line")
			}
			u.directive(start, i)
			continue
		}
		fresh = false
		t := token{off: int32(start)}
		switch c {
		case 'a':
			for i++; i < len(src) && (class[src[i]] == 'a' || class[src[i]] == '0'); i++ {
			}
			t.n = u.number(src[start:i])
		case '0':
			i = numberEnd(src, i)
			t.kind = number
		case '"', '\'':
			for i++; i < len(src) && src[i] != src[start] && src[i] != '\n'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
			if i >= len(src) || src[i] == '\n' {
				return u.fault(start, "a literal without an end")
			}
			i++
			t.kind = literal
		default:
			if bytes.HasPrefix(src[i:], []byte("/*")) {
				n := bytes.Index(src[i+2:], []byte("*/"))
				if n < 0 {
					return u.fault(start, "a comment without an end")
				}
				i += n + 4
				continue
			}
			t.kind = kind(src[i])
			i++
			switch t.kind {
			case '(', '[', '{':
				open = append(open, int32(len(u.tokens)))
			case ')', ']', '}':
				if len(open) == 0 {
					return u.fault(start, "a bracket that nothing opened")
				}
				t.n, open = open[len(open)-1], open[:len(open)-1]
				o := &u.tokens[t.n]
				if o.kind != map[kind]kind{')': '(', ']': '[', '}': '{'}[t.kind] {
					return u.fault(start, "a bracket of another kind than the open one")
				}
				o.n = int32(len(u.tokens))
			}
		}
		t.end = int32(i)
		u.tokens = append(u.tokens, t)
	}
	if len(open) > 0 {
		return u.fault(int(u.tokens[open[len(open)-1]].off), "a bracket that is never closed")
	}
	return nil
}

func numberEnd(src []byte, i int) int {
	exponents := "eEpP"
	if i+1 < len(src) && src[i] == '0' && src[i+1]|0x20 == 'x' {
		exponents = "pP"
	}
	for i++; i < len(src); i++ {
		sign := (src[i] == '+' || src[i] == '-') && strings.IndexByte(exponents, src[i-1]) >= 0
		if c := class[src[i]]; c != 'a' && c != '0' && src[i] != '.' && !sign {
			break
		}
	}
	return i
}

// A position is what a line mark says of the text behind it, up to the next one.
type position struct {
	off  int32 // of the mark
	line int
	file string
}

// directive reads the line [start, stop).
func (u *Unit) directive(start, stop int) {
	line := bytes.TrimSpace(u.text[start+1 : stop])
	switch {
	case bytes.HasPrefix(line, []byte("pragma")):
		u.tokens = append(u.tokens, token{off: int32(start), end: int32(stop), kind: pragma})
		return
	case bytes.Equal(line, []byte(`include "crt/device_runtime.h"`)):
		u.foreign = false
		return
	}
	digits, rest, _ := bytes.Cut(line, []byte(" "))
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		return // #if !defined(__CUDABE__), #endif, #include "common_functions.h"
	}
	p := position{off: int32(start), line: n}
	if q := bytes.LastIndexByte(rest, '"'); q > 0 && rest[0] == '"' {
		name := rest[1:q]
		file, ok := u.files[string(name)]
		if !ok {
			file = string(name)
			u.files[file] = file
			if u.toolkit == "" && toolkitFile(path.Base(file)) {
				u.toolkit = path.Dir(path.Clean(file)) + "/"
			}
		}
		p.file = file
	} else if len(u.marks) > 0 {
		p.file = u.marks[len(u.marks)-1].file
	}
	u.marks = append(u.marks, p)
}

// toolkitFile reports whether it is a file that lies in a toolkit's include folder.
func toolkitFile(base string) bool {
	switch base {
	case "cuda_runtime.h", "device_launch_parameters.h", "cuda_fp16.h", "cuda_fp16.hpp", "vector_functions.hpp",
		"vector_types.h", "device_atomic_functions.hpp", "cuda_bf16.h":
		return true
	}
	return false
}

// at is where the text at off comes from.
func (u *Unit) at(off int32) position {
	n, _ := slices.BinarySearchFunc(u.marks, off+1, func(p position, off int32) int {
		return int(p.off) - int(off)
	})
	if n == 0 {
		return position{off: -1}
	}
	return u.marks[n-1]
}

func lineEnd(src []byte, i int) int {
	if n := bytes.IndexByte(src[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(src)
}

// number is the number of a word.
func (u *Unit) number(text []byte) int32 {
	n, ok := u.numbers[string(text)]
	if !ok {
		n = int32(len(u.words))
		s := string(text)
		u.words = append(u.words, s)
		u.numbers[s] = n
	}
	return n
}

func (u *Unit) fault(off int, what string) error {
	return fmt.Errorf("lowered: line %d: %s", 1+bytes.Count(u.text[:off], []byte("\n")), what)
}

// wordByte reports whether a byte can be in a word.
func wordByte(b byte) bool { return class[b] == 'a' || class[b] == '0' }

// str is a token's text.
func (u *Unit) str(i int) string {
	t := u.tokens[i]
	if t.kind == word {
		return u.words[t.n]
	}
	return string(u.text[t.off:t.end])
}

// is reports whether token i is the word s.
func (u *Unit) is(i int, s string) bool {
	return i >= 0 && i < len(u.tokens) && u.tokens[i].kind == word && u.words[u.tokens[i].n] == s
}
