package contract

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
)

// A body is a function's statements, what each of them reads, and the place in the source that its
// .loc names.
type body struct {
	f     *ptx.Func
	reach *ptx.Reaching
	ops   [][]string
	where []place
}

// A place is that of a statement in the source: "" where the compiler has merged several, or says
// nothing.
type place struct {
	at   string // file, line, column
	from string // where that was inlined, further ones behind
}

func (p place) known() bool { return p.at != "" }

// read follows a function. files are the names of the module's files by their numbers.
func read(f *ptx.Func, files map[string]string) (*body, error) {
	reach, err := f.Reaching()
	if err != nil {
		return nil, err
	}
	b := &body{f: f, reach: reach, ops: make([][]string, len(f.Stmts)),
		where: make([]place, len(f.Stmts))}
	now, head := place{}, ""
	inside := map[string]string{} // where what stands at a place was inlined
	for i, st := range f.Stmts {
		switch st.Kind {
		case ptx.Line:
			if string(f.Opcode(i)) != ".loc" {
				continue
			}
			now = placeOf(statement(f, i), files, inside)
			if head == "" && f.Entry {
				head, _, _ = cutLast(now.at)
			}
			// Of what stands in the line of a kernel's head the columns are those behind macros that
			// cudafe++ has put there, and others in a copy of its body.
			if line, _, ok := cutLast(now.at); ok && line == head {
				now.at = line
			}
		case ptx.Inst:
			b.where[i] = now
			for _, o := range f.Operands(i, nil) {
				b.ops[i] = append(b.ops[i], string(f.Bytes(o)))
			}
		}
	}
	return b, nil
}

func cutLast(at string) (line, column string, ok bool) {
	n := strings.LastIndexByte(at, ':')
	if n < 0 {
		return at, "", false
	}
	return at[:n], at[n+1:], true
}

// placeOf reads `.loc file line column[, function_name label, inlined_at file line column]`. Of
// what was inlined twice over the .loc of the outer one stands before it.
func placeOf(text string, files, inside map[string]string) place {
	own, from, inlined := strings.Cut(text, "inlined_at")
	words := strings.Fields(strings.ReplaceAll(own, ",", " "))
	if len(words) < 4 {
		return place{}
	}
	at := position(words[1:], files)
	if at == "" {
		return place{}
	}
	if !inlined {
		return place{at: at}
	}
	outer := position(strings.Fields(from), files)
	if more := inside[outer]; more != "" {
		outer += " " + more
	}
	return place{at: at, from: outer}
}

func position(words []string, files map[string]string) string {
	if len(words) < 3 || words[1] == "0" {
		return ""
	}
	return fmt.Sprintf("%s:%s:%s", files[words[0]], words[1], words[2])
}

func statement(f *ptx.Func, i int) string {
	st := f.Stmts[i]
	return string(f.Bytes(ptx.Span{Start: st.Start, End: st.End}))
}

// filesOf are a module's files by number, as .file names them.
func filesOf(m *ptx.Module) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(m.Bytes())) {
		words := strings.Fields(line)
		if len(words) >= 3 && words[0] == ".file" {
			out[words[1]] = strings.TrimSuffix(words[2], ",")
		}
	}
	return out
}

// A source is one of the things that an operand may hold: what a statement writes, or what stands
// there (a number, a variable, a special register).
type source struct {
	def   int // -1: none
	text  string
	minus bool // with the other sign
}

// sources follows an operand through moves, selections and changes of sign.
func (b *body) sources(i int, operand string) []source {
	var out []source
	seen := map[source]bool{}
	var follow func(i int, s source)
	follow = func(i int, s source) {
		if !strings.HasPrefix(s.text, "%") || !b.reach.Written(s.text) {
			out = append(out, source{-1, s.text, s.minus})
			return
		}
		for _, d := range b.reach.Of(i, s.text) {
			now := source{d, s.text, s.minus}
			if seen[now] {
				continue
			}
			seen[now] = true
			base := string(b.f.Base(d))
			sign := base == "neg" && floating(b.f.Opcode(d))
			if (base == "mov" || sign) && len(b.ops[d]) == 2 && !strings.ContainsAny(b.ops[d][1], "{[") &&
				b.ops[d][0] == s.text {
				follow(d, source{-1, b.ops[d][1], s.minus != sign})
				continue
			}
			if base == "selp" && len(b.ops[d]) == 4 {
				follow(d, source{-1, b.ops[d][1], s.minus})
				follow(d, source{-1, b.ops[d][2], s.minus})
				continue
			}
			out = append(out, now)
		}
	}
	follow(i, source{-1, operand, false})
	return out
}

// one is the statement that alone writes an operand, as it is; -1: there is no such one.
func (b *body) one(i int, operand string) (def int, minus bool) {
	s := b.sources(i, operand)
	if len(s) != 1 || s[0].def < 0 || b.f.Stmts[s[0].def].Guarded {
		return -1, false
	}
	return s[0].def, s[0].minus
}

func floating(op []byte) bool { return typeOf(op) != "" }

// typeOf is the floating-point type that an instruction computes in, "" for others.
func typeOf(op []byte) string {
	words := strings.Split(string(op), ".")
	switch t := words[len(words)-1]; t {
	case "f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2":
		return t
	}
	return ""
}

// What is contracted is of these types.
func contracts(op []byte) bool {
	t := typeOf(op)
	return t == "f32" || t == "f64"
}

// isSum tells of an addition or subtraction, by the rounding of the type.
func (b *body) isSum(i int) bool {
	base := string(b.f.Base(i))
	return (base == "add" || base == "sub") && contracts(b.f.Opcode(i)) && nearest(b.f.Opcode(i)) &&
		len(b.ops[i]) == 3
}

func (b *body) isProduct(i int) bool {
	return string(b.f.Base(i)) == "mul" && contracts(b.f.Opcode(i)) && nearest(b.f.Opcode(i)) &&
		len(b.ops[i]) == 3
}

func (b *body) isFused(i int) bool {
	return string(b.f.Base(i)) == "fma" && contracts(b.f.Opcode(i)) && nearest(b.f.Opcode(i)) &&
		len(b.ops[i]) == 4
}

// nearest tells of an instruction that rounds to nearest.
func nearest(op []byte) bool {
	return !slices.ContainsFunc([]string{"rz", "rm", "rp"}, func(w string) bool {
		return ptx.HasModifier(op, w)
	})
}

// manner is an instruction's type with what else changes its result.
func manner(op []byte) string {
	out := typeOf(op)
	for _, w := range []string{"ftz", "sat"} {
		if ptx.HasModifier(op, w) {
			out += "." + w
		}
	}
	return out
}
