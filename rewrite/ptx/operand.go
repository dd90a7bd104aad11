package ptx

import (
	"bytes"
	"strconv"
	"strings"
)

// What is inside a statement, read when somebody asks.

// Bytes returns a piece of the function's text.
func (f *Func) Bytes(s Span) []byte { return f.text[s.Start:s.End] }

// Opcode returns an instruction's opcode with its modifiers ("ld.global.v2.f32"), a directive's
// word with its dot (".reg"), or a label's name.
func (f *Func) Opcode(i int) []byte { return f.text[f.Stmts[i].Op:f.Stmts[i].OpEnd] }

// Base returns the opcode up to its first dot: "ld".
func (f *Func) Base(i int) []byte {
	op := f.Opcode(i)
	if n := bytes.IndexByte(op, '.'); n >= 0 {
		return op[:n]
	}
	return op
}

// HasModifier reports whether an opcode has the dotted word, given without its dot:
// HasModifier("ld.global.f32", "global").
func HasModifier(op []byte, word string) bool {
	for rest := op; ; {
		n := bytes.IndexByte(rest, '.')
		if n < 0 {
			return false
		}
		rest = rest[n+1:]
		if len(rest) >= len(word) && string(rest[:len(word)]) == word && (len(rest) == len(word) ||
			rest[len(word)] == '.') {
			return true
		}
	}
}

// Guard returns the predicate register of a guarded instruction (nil for others) and whether the
// guard is @!p.
func (f *Func) Guard(i int) (reg []byte, negated bool) {
	s := f.Stmts[i]
	if !s.Guarded {
		return nil, false
	}
	at := skip(f.text, int(s.Start)+1)
	if f.text[at] == '!' {
		negated = true
		at = skip(f.text, at+1)
	}
	return f.text[at:name(f.text, at)], negated
}

// Operands appends the operands of an instruction or directive to buf, in order, without white
// space around them. `ld.v2.f32 {%f1,%f2}, [%rd1+8];` has two. A call's are its lists and its
// target.
func (f *Func) Operands(i int, buf []Span) []Span {
	s := f.Stmts[i]
	if s.Kind != Inst && s.Kind != Direction && s.Kind != Decl || s.OpEnd >= s.End {
		return buf
	}
	b, depth := f.text, 0
	end := int(s.End) - 1 // without ';'
	for at := skip(b, int(s.OpEnd)); at < end; {
		stop, last := at, at // last: behind the last byte that is neither space nor comment
		for stop < end {
			c := b[stop]
			if c == ',' && depth == 0 {
				break
			}
			switch c {
			case '{', '[', '(':
				depth++
			case '}', ']', ')':
				depth--
			case '"':
				if n := quoted(b, stop); n > 0 {
					stop, last = n, n
					continue
				}
			case '/', ' ', '\t', '\n', '\r':
				if n := skip(b, stop); n > stop {
					stop = n
					continue
				}
			}
			stop++
			last = stop
		}
		if last > at {
			buf = append(buf, Span{uint32(at), uint32(min(last, end))})
		}
		at = skip(b, stop+1)
	}
	return buf
}

// Address splits an operand [base+offset]. offset is what stands behind the base with its sign
// ("+8", "-4"), nil where nothing does; ok is false for operands of any other form.
func (f *Func) Address(s Span) (base, offset []byte, ok bool) {
	b := f.text
	if s.End <= s.Start+2 || b[s.Start] != '[' || b[s.End-1] != ']' {
		return nil, nil, false
	}
	i, end := skip(b, int(s.Start)+1), int(s.End)-1
	n := word(b, i)
	if n == i {
		n = word(b, name(b, i))
	}
	if n == i || n > end {
		return nil, nil, false
	}
	base = b[i:n]
	rest := bytes.TrimSpace(b[n:end])
	if len(rest) == 0 {
		return base, nil, true
	}
	if rest[0] != '+' && rest[0] != '-' || bytes.IndexByte(rest, ',') >= 0 {
		return nil, nil, false
	}
	return base, rest, true
}

// Names calls yield for each name in a span that is neither number nor modifier: registers,
// variables, labels, special registers (with their dimension: %tid.x). Comments are skipped. It
// stops when yield returns false.
func (f *Func) Names(s Span, yield func(Span) bool) { Names(f.text, s, yield) }

// Names is Func.Names for any text.
func Names(b []byte, s Span, yield func(Span) bool) {
	end := int(s.End)
	for i := int(s.Start); i < end; {
		c := b[i]
		switch {
		case class[c]&clFirst != 0:
			n := name(b, i)
			if c == '%' {
				n = word(b, n)
			}
			if n > end || !yield(Span{uint32(i), uint32(n)}) {
				return
			}
			i = n
		case class[c]&clDigit != 0 || c == '.':
			i = max(word(b, i), i+1)
		case c == '/':
			i = max(skip(b, i), i+1)
		case c == '"':
			if i = quoted(b, i); i < 0 {
				return
			}
		default:
			i++
		}
	}
}

// Declared returns the variables that a Decl statement declares.
func (f *Func) Declared(i int) ([]Variable, error) {
	s := f.Stmts[i]
	vars, _, err := variables(f.text, int(s.Start), ';')
	return vars, err
}

// Directive returns the arguments of a performance directive (".maxntid"), as written, and whether
// it stands there.
func (f *Func) Directive(name string) (string, bool) {
	for _, d := range f.Directives {
		if d.Name == name {
			return d.Args, true
		}
	}
	return "", false
}

// Pragmas returns the pragmas of the function, from its head and its body, without quotes:
// "nounroll".
func (f *Func) Pragmas() []string {
	var out []string
	add := func(args string) {
		for _, s := range strings.Split(args, ",") {
			out = append(out, strings.Trim(strings.TrimSpace(s), `"`))
		}
	}
	for _, d := range f.Directives {
		if d.Name == ".pragma" {
			add(d.Args)
		}
	}
	for i, s := range f.Stmts {
		if s.Kind == Direction && string(f.Opcode(i)) == ".pragma" {
			add(string(f.text[s.OpEnd : s.End-1]))
		}
	}
	return out
}

// Bounds returns the block that the source asks for by .reqntid (exact), or the largest by .maxntid;
// zeroes where it gives none.
func (f *Func) Bounds() (block [3]int, exact bool) {
	args, exact := f.Directive(".reqntid")
	if !exact {
		args, _ = f.Directive(".maxntid")
	}
	block = [3]int{1, 1, 1}
	for i, word := range strings.Split(args, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 20)
		if err != nil || n == 0 || i > 2 {
			return [3]int{}, false
		}
		block[i] = int(n)
	}
	return block, exact
}

// Threads returns the product of Bounds, 0 where there are none.
func (f *Func) Threads() (n int, exact bool) {
	d, exact := f.Bounds()
	if n = d[0] * d[1] * d[2]; n > 1<<20 {
		return 0, false
	}
	return n, exact
}
