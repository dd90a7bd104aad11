package fold

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Fixed is what a variant knows that the kernel does not.
type Fixed struct {
	Params map[int]bool    // by index
	Dims   map[string]bool // "ntid.x" for blockDim.x, "nctaid.y" for gridDim.y, "tid.z"
	// What integers are fixed to, for Undefined: those of parameters by index and bytes into it
	// ("2+0"), sizes as in Dims.
	Integers map[string]int64
	// PTX: the values are put into the PTX, and ptxas alone computes with them; a branch that Integers
	// decide is gone (ways.go).
	PTX bool
}

// A state is what is known of a function at present.
type state struct {
	f      *ptx.Func
	reach  *dataflow.Reaching
	rounds *Rounds
	made   []value          // by statement: of what it writes
	params map[string]value // by the parameter's name; of an entry too
	ret    value
	loads  map[int]bool // loads that may find what the same thread has stored
	// What it calls, by statement; whether it stores something that may be known, or what it calls
	// does; whether such a store may stand before it, in who calls it.
	calls       map[int]*state
	writes      bool
	dirty       bool
	constraints *Constraints // what comparisons may tell
	// where ways are closed: what reaches what on all of them, and which statements stand on none
	whole *dataflow.Reaching
	dead  []bool
}

type analysis struct {
	fixed   Fixed
	m       *ptx.Module
	own     func(name string) bool
	states  map[string]*state
	order   []*state
	changed bool
	settle  bool // what was found is not taken back any more
}

// maxRounds bounds the fixpoint: values rise at most three times each, in practice some ten rounds
// are the end of it. In the first ones a value may also fall: a constant, until another way to it
// is seen.
const maxRounds = 200

// Check returns an error where a variant of the kernel could have other bits than the kernel: it
// says which function or instruction may become constant. m is the PTX of the untouched text at
// -O1; own tells the user's functions from CUDA's where their names are alike.
func Check(m *ptx.Module, entry string, fixed Fixed, own func(name string) bool) error {
	a := &analysis{fixed: fixed, m: m, own: own, states: map[string]*state{}}
	e := m.Entry(entry)
	if e == nil {
		return fmt.Errorf(
			"no kernel %s at -O1, so that it is not known whether constants change its bits", entry)
	}
	st, err := a.state(e)
	if err != nil {
		return err
	}
	for k := range e.Params {
		st.params[e.Params[k].Name] = never
		if fixed.Params[k] {
			st.params[e.Params[k].Name] = known
		}
	}
	for round := range maxRounds {
		a.changed, a.settle = false, round >= maxRounds/4
		for n := 0; n < len(a.order); n++ {
			if err := a.pass(a.order[n], false); err != nil {
				return err
			}
		}
		if !a.changed {
			for _, s := range a.order {
				if err := a.pass(s, true); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return fmt.Errorf("it is not known whether constants change its bits: too many functions")
}

// state finds a function, or begins with it.
func (a *analysis) state(f *ptx.Func) (*state, error) {
	if s, ok := a.states[f.Name]; ok {
		return s, nil
	}
	reach, err := dataflow.ReachingOf(f)
	if err != nil {
		return nil, fmt.Errorf("its control flow can't be read at -O1: %w", err)
	}
	s := &state{f: f, reach: reach, rounds: RoundsOf(f, reach.Blocks),
		made:   make([]value, len(f.Stmts)),
		params: map[string]value{}, loads: map[int]bool{}, calls: map[int]*state{}}
	if a.fixed.PTX && f.Entry {
		s.narrow(a.fixed)
	}
	s.constraints = NewConstraints(f, s.reach, func(i int, operand string) bool {
		v := a.operand(s, i, operand)
		return v == never || v == none
	})
	s.constraints.Ignored = func(i int) bool { return s.dead != nil && s.dead[i] }
	for k := range f.Params {
		s.params[f.Params[k].Name] = none
	}
	a.states[f.Name], a.order, a.changed = s, append(a.order, s), true
	return s, nil
}

var call = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?s)\bcall(?:\.uni)?\s*(?:\(\s*([^)]*?)\s*\)\s*,)?\s*([^\s,;(]+)\s*(?:,\s*\(\s*([^)]*?)\s*\))?\s*(?:,\s*[\w$%]+)?\s*;`)
})

// pass goes through a function once. check: everything is known; say what may become constant.
func (a *analysis) pass(s *state, check bool) error {
	f := s.f
	args, results := map[string]value{}, map[string]value{}
	types := map[string]string{}
	ret := none
	var stores []int
	for i, st := range f.Stmts {
		if st.Kind != ptx.Inst || s.dead != nil && s.dead[i] {
			continue
		}
		op, base := f.Opcode(i), string(f.Base(i))
		text := string(f.Bytes(ptx.Span{Start: st.Start, End: st.End}))
		if base == "call" {
			stored, err := a.call(s, i, text, args, results, types, check)
			if err != nil {
				return err
			}
			if stored {
				stores = append(stores, i)
			}
			clear(args)
			continue
		}
		var ops []string
		for _, o := range f.Operands(i, nil) {
			ops = append(ops, string(f.Bytes(o)))
		}
		out := maybe
		switch {
		case base == "st" && ptx.Space(op) == "param" && len(ops) == 2:
			name, v := place(ops[0]), a.operand(s, i, ops[1])
			if strings.HasPrefix(name, "func_retval") {
				ret = join(ret, v)
			} else {
				args[name] = join(args[name], v)
				types[name] = lastWord(op)
			}
			continue
		case base == "st" && len(ops) == 2:
			if v := a.operand(s, i, ops[1]); v != never && v != none {
				stores = append(stores, i)
			}
			continue
		case base == "ld" && len(ops) == 2:
			out = a.load(s, i, op, ops[1], results)
		case len(ops) > 1:
			out = a.result(s, i, base, op, ops[1:])
			whole := chooses(base) && !approximate(base, op) || a.fixed.PTX && OnlyWhole(f, i)
			if check && Own(f, i) && (!whole && !a.kept(s, i, base, ops[1:]) ||
				whole && a.both(s, i, ops[1:])) {
				return fmt.Errorf(
					"its %s may become constant, and the compiler's constant has other bits than the GPU's",
					strings.TrimSpace(string(op)))
			}
		}
		if s.constraints.Constrain(i) && out == never {
			out = maybe
		}
		if a.settle { // only ever up, so that it ends
			out = join(s.made[i], out)
		}
		if out != s.made[i] {
			s.made[i], a.changed = out, true
		}
	}
	if ret = join(s.ret, ret); ret != s.ret {
		s.ret, a.changed = ret, true
	}
	a.forwarded(s, stores)
	a.changed = s.constraints.Look() || a.changed
	return nil
}

func place(operand string) string {
	name, _, _ := strings.Cut(strings.Trim(operand, "[] "), "+")
	return name
}

func lastWord(op []byte) string {
	return string(op)[strings.LastIndexByte(string(op), '.')+1:]
}

// load is what a load gives.
func (a *analysis) load(s *state, i int, op []byte, from string, results map[string]value) value {
	switch space := ptx.Space(op); {
	case space == "param":
		name := place(from)
		if v, ok := s.params[name]; ok {
			return v
		}
		if v, ok := results[name]; ok {
			return v
		}
	case ptx.HasModifier(op, "nc"), ptx.HasModifier(op, "volatile"):
		return never
	case space == "global", space == "shared":
		if !s.loads[i] && !a.constant(from) {
			return never
		}
	case space == "const":
		if strings.HasPrefix(place(from), "%") && !a.tables() || a.m.Global(place(from)) != nil &&
			!a.constant(from) {
			return never
		}
	}
	return maybe
}

// tables tells whether a variable in constant memory has a start. CUDA's own functions have some:
// those are not read by others.
func (a *analysis) tables() bool {
	for _, g := range a.m.Globals {
		if g.Space == "const" && a.constant(g.Name) && !strings.HasPrefix(g.Name, "__cudart") {
			return true
		}
	}
	return false
}

// constant tells whether an address is that of a variable with a start: what it holds may be known.
func (a *analysis) constant(address string) bool {
	name := place(address)
	if strings.HasPrefix(name, "%") {
		return false
	}
	g := a.m.Global(name)
	return g == nil || strings.Contains(string(a.m.Bytes()[g.Span.Start:g.Span.End]), "=")
}

// kept tells whether an approximate instruction stays what it is: none of its operands is a
// constant that it is not now.
func (a *analysis) kept(s *state, i int, base string, ops []string) bool {
	for n, o := range ops {
		if n == 2 && base == "fma" { // a*b + 0 is not a*b: a zero has a sign
			continue
		}
		if !a.operand(s, i, o).firm() {
			return false
		}
	}
	return true
}

// both tells whether all operands may be constants, and not all are now.
func (a *analysis) both(s *state, i int, ops []string) bool {
	firm := true
	for _, o := range ops {
		v := a.operand(s, i, o)
		if v == never {
			return false
		}
		firm = firm && v.firm()
	}
	return !firm
}

// call goes into the user's function that statement i calls, or looks at the arguments of one of
// CUDA's. stored: it is one of CUDA's that stores what may be known where a pointer says.
func (a *analysis) call(s *state, i int, text string, args, results map[string]value,
	types map[string]string, check bool) (stored bool, err error) {
	m := call().FindStringSubmatch(text)
	if m == nil || strings.HasPrefix(m[2], "%") {
		return false, fmt.Errorf(
			"it calls a function by a pointer, so that it is not known whether constants change its bits")
	}
	result := strings.TrimSpace(m[1])
	g := a.m.Func(m[2])
	if g == nil || !g.Body { // another unit's, or the system's: nothing is known there
		results[result] = never
		return false, nil
	}
	var names []string
	if m[3] != "" {
		for _, n := range strings.Split(m[3], ",") {
			names = append(names, strings.TrimSpace(n))
		}
	}
	if strings.Contains(g.Name, "_Z") || a.own(g.Name) {
		callee, err := a.state(g)
		if err != nil {
			return false, err
		}
		s.calls[i] = callee
		for k := range g.Params {
			v := maybe
			if k < len(names) {
				v = args[names[k]]
			}
			if p := g.Params[k].Name; join(callee.params[p], v) != callee.params[p] {
				callee.params[p], a.changed = join(callee.params[p], v), true
			}
		}
		results[result] = callee.ret
		return false, nil
	}
	some, firm, low, to := false, true, maybe, false
	for _, n := range names {
		if t := types[n]; t == "b64" || t == "u64" { // where results go
			to = true
			continue
		}
		v := args[n]
		stored = stored || v != never && v != none
		some, firm, low = some || v == never, firm && v.firm(), min(low, v)
	}
	if check && !firm && (inexact(g) || ordering[g.Name] && !some) {
		return false, fmt.Errorf(
			"an argument of %s may become constant, and the compiler's result has other bits than the GPU's",
			g.Name)
	}
	switch {
	case low == none:
		results[result] = none
	case some && floating(string(g.Text())) && (firm || !choosing[g.Name]):
		results[result] = never
	default:
		results[result] = maybe
	}
	return stored && to, nil
}

// forwarded marks the loads that a store of something that may be known can reach: the compiler may
// hand it on. What a called function stores or loads counts as stored before, and as reached. A
// barrier is in the way of shared memory at an index that no compiler knows alone: it hands on
// behind it what was stored to a __restrict__ parameter's memory, or to a shared variable that is
// no array, or none any more where its indices are known.
func (a *analysis) forwarded(s *state, stores []int) {
	writes := len(stores) > 0
	for _, callee := range s.calls {
		writes = writes || callee.writes
	}
	if writes && !s.writes {
		s.writes, a.changed = true, true
	}
	if !writes && !s.dirty {
		return
	}
	f, isStore := s.f, map[int]bool{}
	for _, i := range stores {
		isStore[i] = true
	}
	const stored, barred uint8 = 1, 2 // since a barrier, and before one
	before := uint8(0)
	if s.dirty {
		before = stored
	}
	along(s.reach.Blocks, before, func(i int, dirty uint8) uint8 {
		if f.Stmts[i].Kind != ptx.Inst {
			return dirty
		}
		switch string(f.Base(i)) {
		case "bar", "barrier":
			if dirty != 0 {
				dirty = barred
			}
		case "ld":
			if !s.loads[i] && (dirty&stored != 0 || dirty != 0 && !a.spread(s, i)) {
				s.loads[i], a.changed = true, true
			}
		case "call":
			if callee := s.calls[i]; callee != nil {
				if dirty != 0 && !callee.dirty {
					callee.dirty, a.changed = true, true
				}
				if callee.writes {
					dirty |= stored
				}
			}
		}
		if isStore[i] {
			dirty |= stored
		}
		return dirty
	})
}

// spread tells of a load of shared memory at an index that no compiler knows.
func (a *analysis) spread(s *state, i int) bool {
	const deepest = 8
	if !ptx.HasModifier(s.f.Opcode(i), "shared") {
		return false
	}
	var walk func(i int, operand string, left int) bool
	walk = func(i int, operand string, left int) bool {
		if !s.reach.IsRegister(operand) || left == 0 {
			return false
		}
		if a.operand(s, i, operand) == never {
			return true
		}
		defs := s.reach.Of(i, operand)
		if !s.reach.Written(operand) || len(defs) != 1 {
			return false
		}
		ops := s.f.Operands(defs[0], nil)
		text := func(k int) string { return string(s.f.Bytes(ops[k])) }
		switch base := string(s.f.Base(defs[0])); {
		case base == "add" && len(ops) == 3:
			return walk(defs[0], text(1), left-1) || walk(defs[0], text(2), left-1)
		case base == "mov" && len(ops) == 2, base == "shl" && len(ops) == 3 && literal(text(2)):
			return walk(defs[0], text(1), left-1)
		}
		return false
	}
	return walk(i, place(string(s.f.Bytes(s.f.Operands(i, nil)[1]))), deepest)
}
