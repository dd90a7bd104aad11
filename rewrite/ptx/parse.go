package ptx

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// The parser: module level by hand, one case a directive; a function's body as a flat list of
// statements.

var parsed atomic.Int64

// Parsed is how many texts this process has read so far: a text is to be read once, and tests look
// whether it is.
func Parsed() int64 { return parsed.Load() }

// Parse reads a module. The text must not change afterwards: the module keeps it. An error is a
// *SyntaxError.
func Parse(src []byte) (*Module, error) {
	if uint64(len(src)) >= math.MaxUint32 {
		return nil, fail(nil, 0, "a text of %d bytes: 4 GiB and more are not read", len(src))
	}
	parsed.Add(1)
	p := &parser{b: src, m: &Module{src: src}}
	if err := p.module(); err != nil {
		return nil, err
	}
	return p.m, nil
}

type parser struct {
	b     []byte
	m     *Module
	stmts []Stmt // scratch, reused from function to function
}

func (p *parser) module() error {
	b := p.b
	for i := skip(b, 0); i < len(b); i = skip(b, i) {
		if b[i] == ';' { // nvcc writes a few stray ones
			i++
			continue
		}
		if b[i] != '.' {
			return fail(b, i, "%s at module level, where a directive should stand", show(b, i))
		}
		end := word(b, i+1)
		var err error
		switch w := string(b[i:end]); w {
		case ".version":
			j := skip(b, end)
			end = j
			for end < len(b) && (class[b[end]]&clDigit != 0 || b[end] == '.') {
				end++
			}
			if j == end {
				return fail(b, i, ".version without a number")
			}
			p.m.Version = string(b[j:end])
		case ".target":
			end, err = p.target(end)
		case ".address_size":
			j := skip(b, end)
			end = name0(b, j)
			if p.m.AddressSize, err = strconv.Atoi(string(b[j:end])); err != nil {
				return fail(b, i, ".address_size without a number")
			}
		case ".file", ".loc":
			end, err = line(b, end)
		case ".section":
			j := skip(b, end)
			j = skip(b, word(b, j))
			if j >= len(b) || b[j] != '{' {
				return fail(b, i, ".section without '{'")
			}
			end, err = block(b, j)
		case ".alias":
			end, err = p.alias(end)
		case ".pragma":
			end, err = semicolon(b, end)
		default:
			end, err = p.definition(i)
		}
		if err != nil {
			return err
		}
		i = end
	}
	return nil
}

// name0 is name, for what begins with a digit too.
func name0(b []byte, i int) int {
	for i < len(b) && class[b[i]]&clName != 0 {
		i++
	}
	return i
}

func (p *parser) target(i int) (int, error) {
	b := p.b
	for {
		i = skip(b, i)
		end := name(b, i)
		if end == i {
			return 0, fail(b, i, ".target without a name")
		}
		p.m.Target = append(p.m.Target, string(b[i:end]))
		next := skip(b, end)
		if next >= len(b) || b[next] != ',' {
			return end, nil
		}
		i = next + 1
	}
}

func (p *parser) alias(i int) (int, error) {
	end, err := semicolon(p.b, i)
	if err != nil {
		return 0, err
	}
	a, of, ok := strings.Cut(string(p.b[i:end-1]), ",")
	if !ok {
		return 0, fail(p.b, i, ".alias wants two names")
	}
	p.m.Aliases = append(p.m.Aliases, Alias{strings.TrimSpace(a), strings.TrimSpace(of)})
	return end, nil
}

// definition reads linkage and then a function or variables, from the '.' at i.
func (p *parser) definition(i int) (int, error) {
	b, start, linkage := p.b, i, ""
	for {
		i = skip(b, i)
		if i >= len(b) || b[i] != '.' {
			return 0, fail(b, i, "%s where .entry, .func or a state space should stand", show(b, i))
		}
		end := word(b, i+1)
		switch w := string(b[i+1 : end]); w {
		case "visible", "extern", "weak", "common":
			linkage = w
			i = end
		case "entry", "func":
			f := &Func{Entry: w == "entry", Linkage: linkage, memo: new(memo)}
			end, err := p.function(f, start, end)
			if err != nil {
				return 0, err
			}
			p.m.Funcs = append(p.m.Funcs, f)
			return end, nil
		case "global", "const", "shared", "local", "param", "reg", "sreg", "tex":
			vars, end, err := variables(b, i, ';')
			if err != nil {
				return 0, err
			}
			for _, v := range vars {
				p.m.Globals = append(p.m.Globals, &Global{Variable: v, Linkage: linkage,
					Span: Span{uint32(start), uint32(end)}})
			}
			return end, nil
		default:
			return 0, fail(b, i, "directive %s is not known at module level", show(b, i))
		}
	}
}

// function reads what follows .entry or .func. start is the first byte of its linkage. Spans are
// made relative to it.
func (p *parser) function(f *Func, start, i int) (int, error) {
	b := p.b
	i = skip(b, i)
	var err error
	if bytes.HasPrefix(b[i:], []byte(".attribute")) {
		if i, err = parens(b, skip(b, i+len(".attribute"))); err != nil {
			return 0, err
		}
		i = skip(b, i)
	}
	if i < len(b) && b[i] == '(' {
		if f.Returns, i, err = variables(b, i+1, ')'); err != nil {
			return 0, err
		}
		i = skip(b, i)
	}
	end := name(b, i)
	if end == i {
		return 0, fail(b, i, "%s where the function's name should stand", show(b, i))
	}
	f.Name = string(b[i:end])
	f.name = Span{uint32(i - start), uint32(end - start)}
	f.paramEnd = uint32(end - start)
	i = skip(b, end)
	if i < len(b) && b[i] == '(' {
		if f.Params, i, err = variables(b, i+1, ')'); err != nil {
			return 0, err
		}
		f.paramEnd = uint32(i - start)
		i = skip(b, i)
	}
	for i < len(b) && b[i] == '.' {
		if i, err = f.directive(b, start, i); err != nil {
			return 0, err
		}
	}
	switch {
	case i < len(b) && b[i] == ';':
		i++
	case i < len(b) && b[i] == '{':
		f.Body = true
		f.open = uint32(i - start)
		if i, err = p.body(start, i+1); err != nil {
			return 0, err
		}
		f.Stmts = slices.Clone(p.stmts)
		f.close = uint32(i - start - 1)
	default:
		return 0, fail(b, i, "%s where the body of %s should stand", show(b, i), f.Name)
	}
	f.at = Span{uint32(start), uint32(i)}
	f.text = b[start:i:i]
	for _, vars := range [][]Variable{f.Returns, f.Params} {
		for k := range vars {
			vars[k].name.Start -= uint32(start)
			vars[k].name.End -= uint32(start)
		}
	}
	return i, nil
}

// directive reads one in front of a function's body, and gives the index behind it.
func (f *Func) directive(b []byte, start, i int) (int, error) {
	var err error
	end := word(b, i+1)
	d := Directive{Name: string(b[i:end]), Span: Span{Start: uint32(i - start)}}
	stop := end
	if d.Name == ".pragma" {
		if stop, err = semicolon(b, end); err != nil {
			return 0, err
		}
		d.Args = strings.TrimSpace(string(b[end : stop-1]))
	} else {
		for stop < len(b) && b[stop] != '{' && b[stop] != ';' && b[stop] != '.' {
			switch next := skip(b, stop); {
			case next > stop:
				stop = next
			case b[stop] == '(':
				if stop, err = parens(b, stop); err != nil {
					return 0, err
				}
			case b[stop] == '}' || b[stop] == '"':
				return 0, fail(b, stop, "%s in directive %s", show(b, stop), d.Name)
			default:
				stop++
			}
		}
		d.Args = strings.TrimSpace(string(b[end:stop]))
	}
	d.Span.End = d.Span.Start + uint32(len(bytes.TrimRight(b[i:stop], " \t\r\n")))
	f.Directives = append(f.Directives, d)
	return skip(b, stop), nil
}

// body reads statements into p.stmts until the '}' that closes the function; it returns the offset
// behind it.
func (p *parser) body(start, i int) (int, error) {
	b, depth := p.b, 0
	p.stmts = p.stmts[:0]
	for {
		i = skip(b, i)
		if i >= len(b) {
			return 0, fail(b, start, "a function without its closing '}'")
		}
		if b[i] == '}' && depth == 0 {
			return i + 1, nil
		}
		s, end, err := p.statement(i, uint32(start), &depth)
		if err != nil {
			return 0, err
		}
		p.stmts = append(p.stmts, s)
		i = end
	}
}

// statement reads the one that begins at i; its spans count from base. depth is the number of open
// scopes.
func (p *parser) statement(i int, base uint32, depth *int) (s Stmt, end int, err error) {
	b := p.b
	s = Stmt{Start: uint32(i) - base, Depth: uint16(*depth)}
	end = i + 1
	switch c := b[i]; {
	case c == '{':
		s.Kind = Open
		if *depth++; *depth > math.MaxUint16 {
			return s, 0, fail(b, i, "scopes nested too deep")
		}
	case c == '}':
		*depth--
		s.Kind, s.Depth = Close, uint16(*depth)
	case c == ';':
		s.Kind = Empty
	case c == '.':
		op := word(b, end)
		s.Op, s.OpEnd = s.Start, uint32(op)-base
		switch string(b[i:op]) {
		case ".loc", ".file":
			s.Kind = Line
			end, err = line(b, op)
		case ".reg", ".param", ".local", ".shared", ".global", ".const":
			s.Kind = Decl
			end, err = semicolon(b, op)
		default:
			s.Kind = Direction
			end, err = semicolon(b, op)
		}
	default:
		if c == '@' {
			s.Guarded = true
			if i = skip(b, i+1); i < len(b) && b[i] == '!' {
				i = skip(b, i+1)
			}
			reg := name(b, i)
			if reg == i {
				return s, 0, fail(b, i, "'@' without a predicate register")
			}
			i = skip(b, reg)
		}
		op := name(b, i)
		if op == i {
			return s, 0, fail(b, i, "%s where a statement should begin", show(b, i))
		}
		if !s.Guarded {
			if colon := skip(b, op); colon < len(b) && b[colon] == ':' &&
				(colon+1 == len(b) || b[colon+1] != ':') {
				s.Kind, s.Op, s.OpEnd = Label, s.Start, uint32(op)-base
				end = colon + 1
				break
			}
		}
		op = word(b, op)
		s.Kind, s.Op, s.OpEnd = Inst, uint32(i)-base, uint32(op)-base
		end, err = semicolon(b, op)
	}
	s.End = uint32(end) - base
	return s, end, err
}

// parens returns the offset behind the ')' that closes the '(' at i.
func parens(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '(' {
		return 0, fail(b, i, "%s where '(' should stand", show(b, i))
	}
	start, depth := i, 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1, nil
			}
		case '{', '}', ';', '"':
			return 0, fail(b, i, "'%c' inside parentheses", b[i])
		}
	}
	return 0, fail(b, start, "'(' without its ')'")
}

// show names what stands at an offset, for messages.
func show(b []byte, i int) string {
	if i >= len(b) {
		return "the end of the text"
	}
	end := word(b, i)
	if end == i {
		end = name(b, i)
	}
	if end == i {
		end = i + 1
	}
	return strconv.Quote(string(b[i:min(end, i+40)]))
}
