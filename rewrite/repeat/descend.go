package repeat

import (
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
)

// What a turn computes of the turn before. Of a counter's value now, and of what was made of it a
// turn ago, the difference is a number: i+7 - (j+7), where j is what i was. In the loop no compiler
// sees that, in a copy ptxas does; also where the difference is written as a sum with what has the
// other sign.

// descend works out whether a statement's result is made of what the turn before left, and of
// something with the other sign.
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
	var stale, minus bool
	for n, o := range ops[1:] {
		for _, reg := range s.read(string(f.Bytes(o))) {
			stale = stale || within && s.carried(i, reg)
			// what takes a register off, or turns its bits
			minus = minus || base == "sub" && n > 0
			for _, d := range s.reach.Of(i, reg) {
				stale = stale || within && s.in[s.of[d]] && s.stale[d]
				minus = minus || s.minus[d]
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
		stale, minus = false, false
		if space := ptx.Space(op); within && space != "param" && space != "const" && s.storesTo(space) {
			stale, minus = true, true // what the turn before has stored
		}
	}
	if stale && !s.stale[i] || minus && !s.minus[i] {
		s.stale[i], s.minus[i], s.grown = s.stale[i] || stale, s.minus[i] || minus, true
	}
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

// read are the registers in an operand. Inline assembly's need no %.
func (s *lesson) read(operand string) (out []string) {
	for _, part := range strings.Split(strings.Trim(operand, "{}"), ",") {
		part = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(part), "!"), "-")
		if strings.HasPrefix(part, "%") || s.reach.Written(part) {
			out = append(out, part)
		}
	}
	return out
}
