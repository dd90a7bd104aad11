package repeat

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
)

// What ptxas could learn. It computes approximate instructions of constants by itself, with other
// bits than the GPU. In a turn that stands behind another one it may know more than in any turn
// of the loop:
//
//	x = 1; loop { y = sin(x); x = load; x = 2 }     the second turn's x is 2
//
// So what is new in a copy comes over from the turn before: by a register that is read before the
// turn has written it, by memory that a turn stores to and the next one reads, or as a comparison
// in the turn before has shown of a value that stays. Where none of these can be a number, nothing
// in the copy can be one that was none in the kernel.

// A lesson is what may be known of each statement's result, in some turn.
type lesson struct {
	*loop
	known       []bool // it may be a number
	news        []bool // and perhaps is none in the kernel
	stale       []bool // it is made of what the turn before left
	minus       []bool // it is made of something with the other sign
	worn        []bool // bits were lost on its way: x>>16, after some turns 0
	faded       []bool // it is made of what a turn before has left worn
	constraints *fold.Constraints
	stored      []string       // the spaces that the loop stores to
	declared    []ptx.Variable // all registers; nil: not asked yet
	stores      map[int]bool   // of what may be a number
	left        map[look]bool  // carried
	bound       bool           // where the loop ends may be known, and so which turns are the last
	parts       bool           // a branch in the loop that may be known, as it is not in the kernel
	grown       bool
}

// A look is at a register by a statement.
type look struct {
	stmt int
	reg  string
}

// folds says where ptxas could compute an approximate instruction of a copy by itself.
func (l *loop) folds() error {
	var stored []string
	for i := range l.all {
		if l.f.Stmts[i].Kind != ptx.Inst {
			continue
		}
		switch string(l.f.Base(i)) {
		case "call":
			return l.anywhere()
		case "st":
			stored = append(stored, ptx.Space(l.f.Opcode(i)))
		}
	}
	if l.trip == nil {
		return l.anywhere()
	}
	s := &lesson{stored: stored, loop: l,
		known: make([]bool, len(l.f.Stmts)), news: make([]bool, len(l.f.Stmts)),
		stale: make([]bool, len(l.f.Stmts)), minus: make([]bool, len(l.f.Stmts)),
		worn: make([]bool, len(l.f.Stmts)), faded: make([]bool, len(l.f.Stmts)),
		stores: map[int]bool{}, left: map[look]bool{}}
	s.constraints = fold.NewConstraints(l.f, l.reach, func(i int, operand string) bool {
		known, _ := s.operand(i, operand)
		return !known
	})
	s.constraints.Ignored = func(i int) bool { return !l.in[l.of[i]] }
	for s.grown = true; s.grown; {
		s.grown = false
		for i := range l.f.Stmts {
			s.descend(i)
		}
		if known, _ := s.operand(l.trip.at, l.trip.bound); known && !s.bound {
			s.bound, s.grown = true, true
		}
		for i := range l.f.Stmts {
			s.look(i)
		}
		s.grown = s.constraints.Look() || s.grown
	}
	for i := range l.f.Stmts { // behind the loop, too
		if s.doubt(i) {
			return fmt.Errorf("its %s may become constant in some turn, and ptxas' constant has other "+
				"bits than the GPU's", l.f.Opcode(i))
		}
	}
	return nil
}

// doubt tells of an instruction whose result is another one where ptxas computes it.
func (s *lesson) doubt(i int) bool {
	f := s.f
	if f.Stmts[i].Kind != ptx.Inst || !fold.Own(f, i) {
		return false
	}
	some, all := false, true
	for _, o := range f.Operands(i, nil)[1:] {
		known, news := s.operand(i, string(f.Bytes(o)))
		some, all = some || news, all && known
	}
	return some && (all || !fold.OnlyWhole(f, i))
}

// operand tells what may be known of an operand of a statement.
func (s *lesson) operand(i int, text string) (known, news bool) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return true, false
	case text[0] == '{':
		for _, part := range strings.Split(strings.Trim(text, "{}"), ",") {
			k, n := s.operand(i, part)
			known, news = known || k, news || n
		}
		return known, news
	}
	text = strings.TrimPrefix(text, "!")
	if text[0] == '-' && !s.reach.Written(text) {
		text = text[1:]
	}
	if !s.reach.Written(text) {
		return !s.reach.IsRegister(text), false
	}
	defs := s.reach.Of(i, text)
	within := s.in[s.of[i]]
	if s.bound && within && text == s.trip.reg {
		return true, true
	}
	for _, d := range defs {
		k, n := s.known[d], s.news[d]
		if s.constraints.Constrain(d) {
			k, n = true, n || within && !s.in[s.of[d]]
		}
		known, news = known || k, news || n
		if within && k && s.in[s.of[d]] && s.carried(i, text) {
			news = true
		}
	}
	return known, news || known && s.parts && len(defs) > 1 && within
}

// carried tells whether a statement may read what the turn before has left in a register.
func (s *lesson) carried(i int, reg string) bool {
	key := look{i, reg}
	out, ok := s.left[key]
	if !ok {
		out = s.leftOver(i, reg)
		s.left[key] = out
	}
	return out
}

func (s *lesson) leftOver(i int, reg string) bool {
	writes := make([]int, len(s.after)) // the first one in each block, and 1
	for _, d := range s.reach.Of(-1, reg) {
		if b := s.of[d]; !s.f.Stmts[d].Guarded && (writes[b] == 0 || d < writes[b]-1) {
			writes[b] = d + 1
		}
	}
	b := s.of[i]
	return s.in[b] && (writes[b] == 0 || writes[b] > i) && ptx.Onward(s.reach.Blocks, []int{s.head},
		func(at int) bool { return writes[at] > 0 || !s.in[at] })[b]
}

// look works out what may be known of a statement's result.
func (s *lesson) look(i int) {
	f := s.f
	if f.Stmts[i].Kind != ptx.Inst {
		return
	}
	within := s.in[s.of[i]]
	if guard, _ := f.Guard(i); guard != nil && within && !s.parts {
		if _, news := s.operand(i, string(guard)); news {
			s.parts, s.grown = true, true
		}
	}
	ops := f.Operands(i, nil)
	if len(ops) < 2 {
		return
	}
	op, base := f.Opcode(i), string(f.Base(i))
	all, some, any, news := true, false, false, false
	old := within && s.stale[i]
	for _, o := range ops[1:] {
		text := string(f.Bytes(o))
		k, n := s.operand(i, text)
		register := len(s.read(text)) > 0
		all, any, news = all && k, any || k, news || n
		some = some || k && register
	}
	known := all
	switch base {
	case "st", "red", "atom":
		if any && ptx.Space(op) != "param" && !s.stores[i] {
			s.stores[i], s.grown = true, true
		}
		return
	case "ld", "ldu":
		known, news = s.handed(i, within)
		known = known || ptx.Space(op) == "const"
		if ptx.Space(op) == "param" {
			name, _, _ := f.Address(ops[1])
			known = !slices.ContainsFunc(f.Params, func(p ptx.Variable) bool {
				return p.Name == string(name)
			})
			news = false
		}
	case "tex", "tld4", "suld", "shfl", "vote", "match", "activemask":
		known = false
	case "mov", "cvt", "cvta", "neg", "abs", "not":
		if s.faded[i] && s.loses(i) {
			known, news = true, true
		}
	case "setp", "set":
		if !fold.Float(op) && old && !all { // one may be the other
			known, news = true, true
		}
	case "selp", "slct":
		known = any
	default:
		switch {
		case fold.Float(op):
		case base == "add" || base == "mad":
			known = all || base == "mad" && some
			if old && !all && s.cancels(i) {
				known, news = true, true
			}
		case old && (s.registers(i) > 1 || base == "div" || base == "rem"), s.faded[i] && s.loses(i):
			known, news = true, true
		default: // 0 times, and 0, ...
			known = all || some
		}
	}
	news = news && known
	if known && !s.known[i] || news && !s.news[i] {
		s.known[i], s.news[i], s.grown = true, s.news[i] || news, true
	}
}

// handed tells of a load whether it may be handed what a store left, and one of the loop's.
func (s *lesson) handed(load int, within bool) (known, news bool) {
	space := ptx.Space(s.f.Opcode(load))
	for i := range s.stores {
		if to := ptx.Space(s.f.Opcode(i)); to == space || to == "" || space == "" {
			known, news = true, news || within && s.in[s.of[i]]
		}
	}
	return known, news
}
