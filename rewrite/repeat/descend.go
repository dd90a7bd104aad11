package repeat

import (
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// What a turn computes of the turn before. Of a counter's value now, and of what was made of it a
// turn ago, the difference is a number: i+7 - (j+7), where j is what i was. In the loop no compiler
// sees that, in a copy ptxas does; also where the difference is written as a sum with what has the
// other sign. And of what each turn shifts or masks again nothing may be left after some.

// descend works out whether a statement's result is made of what the turn before left, of something
// with the other sign, and of what has lost bits on its way.
func (s *lesson) descend(i int) {
	f := s.f
	if f.Stmts[i].Kind != ptx.Inst {
		return
	}
	ops := f.Operands(i, nil)
	if len(ops) < 2 {
		return
	}
	within, base, op := s.in[s.of[i]], string(f.Base(i)), f.Opcode(i)
	var stale, minus, faded bool
	worn := within && s.loses(i)
	for n, o := range ops[1:] {
		for _, reg := range s.read(string(f.Bytes(o))) {
			stale = stale || within && s.carried(i, reg)
			// what takes a register off, or turns its bits
			minus = minus || base == "sub" && n > 0
			for _, d := range s.reach.Of(i, reg) {
				stale = stale || within && s.in[s.of[d]] && s.stale[d]
				minus = minus || s.minus[d]
				if within && s.in[s.of[d]] {
					worn = worn || s.worn[d]
					faded = faded || s.faded[d] || s.worn[d] && s.carried(i, reg)
				}
			}
			if base == "mul" || base == "mad" || base == "mul24" || base == "mad24" {
				known, _ := s.operand(i, reg)
				minus = minus || known
			}
		}
		if v, err := strconv.ParseUint(string(f.Bytes(o)), 0, 64); err != nil &&
			strings.HasPrefix(string(f.Bytes(o)), "-") || v >= 1<<31 {
			minus = minus || base != "add" && base != "sub" || base == "sub" && n == 0
		}
	}
	switch base {
	case "neg", "not", "xor", "lop3", "div", "rem", "bfe", "prmt", "shf", "fma":
		minus = true
	case "ld", "ldu":
		stale, minus, worn, faded = false, false, within && s.widens(op, string(f.Bytes(ops[0]))), false
		if space := ptx.Space(op); within && space != "param" && space != "const" && s.storesTo(space) {
			stale, minus, worn, faded = true, true, true, true // what the turn before has stored
		}
	}
	for now, is := range map[*bool]bool{&s.stale[i]: stale, &s.minus[i]: minus, &s.worn[i]: worn,
		&s.faded[i]: faded} {
		*now, s.grown = *now || is, s.grown || is && !*now
	}
}

// loses tells of an operation on integers whose result has not all bits of its operands: done
// again and again, as turns do, it may leave none of them. A cvt may be to fewer bits.
func (s *lesson) loses(i int) bool {
	switch op := s.f.Opcode(i); string(s.f.Base(i)) {
	case "mov": // a register's halves, or of several one
		return slices.ContainsFunc(s.f.Operands(i, nil), func(o ptx.Span) bool {
			return s.f.Bytes(o)[0] == '{'
		})
	case "add", "sub", "neg", "not", "cvta", "ld", "ldu", "setp", "set", "selp", "slct":
		return false
	case "mul", "mad": // by an odd number is one to one
		return !fold.Float(op) && !(ptx.HasModifier(op, "lo") && slices.ContainsFunc(
			s.f.Operands(i, nil)[1:3], func(o ptx.Span) bool {
				n, ok := dataflow.Literal(string(s.f.Bytes(o)))
				return ok && n&1 != 0
			}))
	default:
		return !fold.Float(op)
	}
}

// widens tells of a load that may leave the upper bits of a register 0, by what the register is
// declared as; one of which that is not known is taken for a wide one.
func (s *lesson) widens(op []byte, to string) bool {
	if s.declared == nil {
		s.declared, _ = s.f.Registers()
	}
	for name := range strings.SplitSeq(strings.Trim(to, "{} "), ",") {
		name, width := strings.TrimSpace(name), 0
		for _, v := range s.declared { // scopes may declare a name again
			number, ranged := strings.CutPrefix(name, v.Name)
			if v.Count > 0 {
				n, err := strconv.Atoi(number)
				ranged = ranged && err == nil && n < v.Count
			} else {
				ranged = name == v.Name
			}
			if ranged {
				width = max(width, 8*v.Size())
			}
		}
		if width == 0 {
			width = 64
		}
		if name != "_" && fold.WidthOf(op) < width {
			return true
		}
	}
	return false
}

// storesTo tells whether the loop stores to a space.
func (s *lesson) storesTo(space string) bool {
	return slices.ContainsFunc(s.stored, func(to string) bool {
		return to == space || to == "" || space == "" && to != "param"
	})
}

// cancels tells whether a sum's parts may have opposite signs.
func (s *lesson) cancels(i int) bool { return s.registers(i) > 1 && s.minus[i] }

// registers counts those among a statement's operands.
func (s *lesson) registers(i int) (n int) {
	for _, o := range s.f.Operands(i, nil)[1:] {
		n += len(s.read(string(s.f.Bytes(o))))
	}
	return n
}

// read are the registers in an operand.
func (s *lesson) read(operand string) (out []string) {
	for _, part := range strings.Split(strings.Trim(operand, "{}"), ",") {
		part = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(part), "!"), "-")
		if s.reach.IsRegister(part) {
			out = append(out, part)
		}
	}
	return out
}
