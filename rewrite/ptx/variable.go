package ptx

import (
	"strconv"
	"strings"
)

// Declarations: the same few words for parameters, registers and variables in memory, for example
//
//	.param .u64 .ptr .align 1 _Z1kPf_param_0
//	.reg .b32 %r<10>;
//	.global .attribute(.managed) .align 8 .u64 table[2] = {_Z3addii, generic(x)+28};

// variables reads declarations up to and with the closing byte (';' of a statement or ')' of a
// list), from i. In a list every variable has its own space and type; in a statement the names
// share them.
func variables(b []byte, i int, closing byte) ([]Variable, int, error) {
	var out []Variable
	var v Variable
	for {
		i = skip(b, i)
		if i >= len(b) {
			return nil, 0, fail(b, i, "the file ends inside a declaration")
		}
		switch c := b[i]; {
		case c == closing:
			return out, i + 1, nil
		case c == ',':
			i++
			if closing == ')' {
				v = Variable{}
			}
		case c == '.':
			// a function with any arguments
			if closing == ')' && i+2 < len(b) && b[i+1] == '.' && b[i+2] == '.' {
				i += 3
				continue
			}
			end, err := v.attribute(b, i)
			if err != nil {
				return nil, 0, err
			}
			i = end
		case class[c]&clFirst != 0:
			end, err := v.declare(b, i, closing)
			if err != nil {
				return nil, 0, err
			}
			if v.Space == "" {
				return nil, 0, fail(b, i, "%s declared without a state space", show(b, i))
			}
			out = append(out, v)
			v.Name, v.Count, v.Dims, v.Init = "", 0, nil, Span{}
			i = end
		default:
			return nil, 0, fail(b, i, "%s in a declaration", show(b, i))
		}
	}
}

// attribute reads one dotted word of a declaration and what belongs to it.
func (v *Variable) attribute(b []byte, i int) (int, error) {
	end := word(b, i+1)
	w := string(b[i+1 : end])
	switch w {
	case "reg", "sreg", "param", "global", "const", "shared", "local", "tex":
		if v.Space == "" || !v.Pointer {
			v.Space = w
		} // behind .ptr it is the space pointed to
	case "align":
		j := skip(b, end)
		end = name0(b, j)
		n, err := strconv.Atoi(string(b[j:end]))
		if err != nil || n <= 0 {
			return 0, fail(b, i, ".align without a number")
		}
		if !v.Pointer { // behind .ptr it is the alignment of what is pointed to
			v.Align = n
		}
	case "ptr":
		v.Pointer = true
	case "v2":
		v.Vector = 2
	case "v4":
		v.Vector = 4
	case "v8":
		v.Vector = 8
	case "attribute":
		j := skip(b, end)
		end, err := parens(b, j)
		if err == nil {
			v.Attribute = strings.TrimSpace(string(b[j+1 : end-1]))
		}
		return end, err
	case "":
		return 0, fail(b, i, "a lone '.' in a declaration")
	default:
		v.Type = w
	}
	return end, nil
}

// declare reads a name and what may follow it: <count>, [sizes], = initialiser.
func (v *Variable) declare(b []byte, i int, closing byte) (int, error) {
	end := name(b, i)
	v.Name, v.name = string(b[i:end]), Span{uint32(i), uint32(end)}
	for {
		j := skip(b, end)
		if j >= len(b) {
			return end, nil
		}
		switch b[j] {
		case '<':
			n, next, err := number(b, j+1, '>')
			if err != nil {
				return 0, err
			}
			v.Count, end = n, next
		case '[':
			n, next, err := number(b, j+1, ']')
			if err != nil {
				return 0, err
			}
			v.Dims, end = append(v.Dims, n), next
		case '=':
			j = skip(b, j+1)
			if closing != ';' {
				return 0, fail(b, j, "an initialiser in a list of parameters")
			}
			stop, err := initialiser(b, j)
			if err != nil {
				return 0, err
			}
			v.Init = Span{uint32(j), uint32(stop)}
			return stop, nil
		default:
			return end, nil
		}
	}
}

// number reads a count and its closing byte; nothing at all is -1.
func number(b []byte, i int, closing byte) (int, int, error) {
	i = skip(b, i)
	end := name0(b, i)
	n := -1
	if end > i {
		u, err := strconv.ParseUint(string(b[i:end]), 0, 31)
		if err != nil {
			return 0, 0, fail(b, i, "%s where a count should stand", show(b, i))
		}
		n = int(u)
	}
	j := skip(b, end)
	if j >= len(b) || b[j] != closing {
		return 0, 0, fail(b, j, "%s where '%c' should stand", show(b, j), closing)
	}
	return n, j + 1, nil
}

// initialiser returns the end of an initialiser: the ',' or ';' outside of braces and parentheses.
func initialiser(b []byte, i int) (int, error) {
	start, depth := i, 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '{', '(':
			depth++
		case '}', ')':
			depth--
		case ',', ';':
			if depth <= 0 {
				return i, nil
			}
		case '"':
			n := quoted(b, i)
			if n < 0 {
				return 0, fail(b, i, "a string without its end")
			}
			i = n - 1
		case '/':
			if n := skip(b, i); n > i {
				i = n - 1
			}
		}
	}
	return 0, fail(b, start, "an initialiser without its end")
}
