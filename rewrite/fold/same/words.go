package same

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Words that are loaded byte by byte. Of a packed struct cicc knows no alignment, and puts each of
// its numbers together (with every toolkit from 11.8 to 13.5):
//
//	ld.global.nc.u8 %rs1, [%rd1+4];   cvt.u32.u8 %r1, %rs1;
//	ld.global.nc.u8 %rs2, [%rd1+5];   cvt.u32.u8 %r2, %rs2;   prmt.b32 %r3, %r2, %r1, 0x7604;
//	ld.global.nc.u8 %rs3, [%rd1+6];   cvt.u32.u8 %r4, %rs3;
//	ld.global.nc.u8 %rs4, [%rd1+7];   cvt.u32.u8 %r5, %rs4;   prmt.b32 %r6, %r5, %r4, 0x7604;
//	                                                          prmt.b32 %r7, %r6, %r3, 0x1054;
//
// In a variant for an alignment this is ld.global.u32 %r7, [%rd1+4]. So that one is found to be the
// other, that is what is read here: of four bytes in a row, loaded behind each other with nothing
// between that could store, the last statement is a load of the word. The others stay, and nobody
// asks for them; all statements keep their numbers.

// inWords gives a kernel with such loads, and what its functions are called in the module that was
// given; the kernel itself where there are none.
func inWords(b Built) (out Built, given map[*ptx.Func]*ptx.Func, err error) {
	reach, err := b.Module.Reach(b.Entry)
	if err != nil {
		return b, nil, err
	}
	words := map[string]map[int]string{}
	for _, f := range reach.Funcs {
		if w := wordsOf(f); len(w) > 0 {
			words[f.Name] = w
		}
	}
	if len(words) == 0 {
		return b, nil, nil
	}
	m := b.Module.Clone()
	given, taken := map[*ptx.Func]*ptx.Func{}, map[*ptx.Func]*ptx.Func{}
	for _, f := range reach.Funcs {
		g := m.Func(f.Name)
		given[g], taken[f] = f, g
		for i, text := range words[f.Name] {
			g.Replace(i, text)
		}
		if err := g.Commit(); err != nil {
			return b, nil, fmt.Errorf("write words in place of bytes: %w", err)
		}
		if len(g.Stmts) != len(f.Stmts) {
			return b, nil, fmt.Errorf("words in place of bytes make %d statements of %d", len(g.Stmts),
				len(f.Stmts))
		}
	}
	out = b
	out.Module, out.Contracted = m, map[Statement]Statement{}
	for s, with := range b.Contracted {
		out.Contracted[Statement{taken[s.Func], s.Index}] = Statement{taken[with.Func], with.Index}
	}
	return out, given, nil
}

// as names an answer's statements as they were given.
func (a *Answer) as(given map[*ptx.Func]*ptx.Func) {
	list := func(of []Statement) []Statement {
		of = slices.Clone(of)
		for i, s := range of {
			if f := given[s.Func]; f != nil {
				of[i].Func = f
			}
		}
		return of
	}
	for _, sums := range [][]Sum{a.Sums, a.Products} {
		for i, s := range sums {
			sums[i] = Sum{list([]Statement{s.At})[0], list(s.May), list(s.Ordered)}
		}
	}
	a.Both, a.Alone, a.Approximate = list(a.Both), list(a.Alone), list(a.Approximate)
}

// A loaded byte is one of memory, or 0 where op is "".
type loaded struct {
	op     string // of its load
	base   string
	offset int
}

// wordsOf are the statements that put a word together, and the load that each is.
func wordsOf(f *ptx.Func) map[int]string {
	out := map[int]string{}
	bytes := map[string][4]loaded{} // by register, so far in a row of statements
	for i, s := range f.Stmts {
		switch name := string(f.Base(i)); {
		case s.Kind == ptx.Line || s.Kind == ptx.Empty:
			continue
		case s.Kind != ptx.Inst, name == "ld" && ptx.Strong(f.Opcode(i)),
			name != "ld" && !dataflow.Computes(name):
			clear(bytes) // a way from elsewhere, or what may store
			continue
		}
		word, known := wordOf(f, i, bytes)
		f.Effects(i, func(n ptx.Span, _, write bool) {
			if to := string(f.Bytes(n)); write {
				maps.DeleteFunc(bytes, func(name string, word [4]loaded) bool {
					return name == to || slices.ContainsFunc(word[:], func(l loaded) bool { return l.base == to })
				})
				known = known && !slices.ContainsFunc(word[:], func(l loaded) bool { return l.base == to })
			}
		})
		if !known || s.Guarded {
			continue
		}
		to := (&function{Func: f}).operands(i)[0]
		bytes[to] = word
		first, row := word[0], string(f.Base(i)) == "prmt" && word[0].op != ""
		for k, next := range word {
			row = row && next == loaded{first.op, first.base, first.offset + k}
		}
		if row {
			out[i] = fmt.Sprintf("%s.u32 %s, [%s+%d];", strings.TrimSuffix(first.op, ".u8"), to, first.base,
				first.offset)
		}
	}
	return out
}

// wordOf are the bytes that a statement gives to a register; not ok where they are not known.
func wordOf(f *ptx.Func, i int, bytes map[string][4]loaded) (word [4]loaded, ok bool) {
	op, ops := string(f.Opcode(i)), (&function{Func: f}).operands(i)
	switch {
	case strings.HasPrefix(op, "ld.") && strings.HasSuffix(op, ".u8") && len(ops) == 2 &&
		!strings.Contains(op, ".v") && !strings.Contains(op, "cache_hint"):
		name, offset := base(ops[1])
		word[0] = loaded{op, name, offset}
		return word, strings.HasPrefix(name, "%")
	case (op == "cvt.u32.u8" || op == "cvt.u32.u16") && len(ops) == 2:
		of, ok := bytes[ops[1]]
		copy(word[:], of[:width([]byte(op[len("cvt.u32"):]))]) // a wide register may hold more
		return word, ok
	case op == "prmt.b32" && len(ops) == 4:
		choose, err := strconv.ParseUint(ops[3], 0, 16)
		a, okA := bytes[ops[1]]
		b, okB := bytes[ops[2]]
		for k := range word {
			from := choose >> (4 * k) & 15
			ok = from < 8 // else it is the byte's sign
			if !ok {
				return word, false
			}
			word[k] = append(a[:], b[:]...)[from]
		}
		return word, err == nil && okA && okB
	}
	return word, false
}
