package coarsen

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/await"
	"gnvcc/rewrite/ptx/ir"
)

// What coarsen reads in a kernel: whether it may be coarsened at all, and what depends on the turn.
//
// What depends on it is a fixed point over all statements: the block's number does, what is read
// from memory of the block's own or by an ordered load or an atomic, and what is computed of a
// register that does; and so all that such a statement writes. Control flow adds nothing: jammed
// code goes on only where all turns go the same way.

// Dimensions says in which dimensions a block may do the work of several blocks of a kernel, by
// their threads jammed or one after the other: those in which the kernel looks at its block's
// number. An error says why it may in none.
func Dimensions(m *ptx.Module, kernel string) (dims [3]bool, err error) {
	f := m.Entry(kernel)
	if f == nil {
		return dims, fmt.Errorf("no kernel %s in the PTX", kernel)
	}
	outer, err := coarseOutside(m, f)
	if err != nil {
		return dims, err
	}
	outer.size = 1 // how much a launch asks for is not known here
	var first error
	for d := range dims {
		_, err := readCoarse(f, outer, d)
		if err != nil && !errors.Is(err, errNoNumber) {
			first = cmp.Or(first, err)
		}
		dims[d] = err == nil
	}
	if dims == [3]bool{} {
		return dims, cmp.Or(first, errNoNumber)
	}
	return dims, nil
}

var errNoNumber = errors.New("it does not read its block index")

// A coarseOuter is the dynamic shared memory that a kernel uses: arrays without a size, which all
// begin at one place.
type coarseOuter struct {
	names []string
	align int
	size  int // of a launch, bytes
}

// coarseOutside looks at what stands around a kernel's own text.
func coarseOutside(m *ptx.Module, f *ptx.Func) (out coarseOuter, err error) {
	for _, d := range f.Directives {
		if strings.Contains(d.Name, "cluster") {
			return out, fmt.Errorf("the source asks for %s, which refers to the original blocks", d.Name)
		}
	}
	switch {
	case slices.Contains(m.Target, "debug"):
		return out, errors.New("it is compiled for debugging, where registers are visible by name")
	case m.AddressSize != 64:
		return out, errors.New("its addresses have 32 bits")
	}
	r, err := m.Reach(f.Name)
	if err != nil {
		return out, err
	}
	for _, g := range r.Globals {
		switch {
		case g.Space == "shared" && g.Linkage == "extern" && g.Size() <= 0:
			out.names, out.align = append(out.names, g.Name), max(out.align, g.Alignment())
		case g.Space == "shared":
			return out, fmt.Errorf("it uses shared memory that is not its own (%s)", g.Name)
		}
	}
	if err := coarseCalls(r); err != nil {
		return out, err
	}
	waits, err := await.Why(m, f.Name)
	if err == nil && waits != "" {
		err = fmt.Errorf("its blocks may wait for each other (%s)", waits)
	}
	return out, err
}

// A coarseRead is what is known of a kernel that is to be coarsened in one dimension.
type coarseRead struct {
	*ir.Func
	dim    int
	groups []string // by declaration of registers: a name that is its own in the whole body

	varies []bool      // by register: it depends on the turn
	many   []bool      // by statement: it stands once for each turn
	leaves []int       // branches and ends on which turns may disagree
	calls  map[int]int // scopes of calls: their end, by their begin
	within []int       // by statement: the begin of the call's scope around it, -1: none

	together string         // an instruction by which threads of a block or warp act together
	shared   map[string]int // where each shared array begins in the one that takes their place
	size     int            // of that, for one turn, bytes
	align    int
}

// maxCoarseBody bounds the instructions of a kernel, of which the text gets up to MaxCoarse + 1
// copies: ptxas takes a second and more for ten thousand.
const maxCoarseBody = 4000

// maxRounds bounds how often ways are put under guards.
const maxRounds = 8

// readCoarse reads a kernel, with ways on which turns may disagree under guards where that is
// needed.
func readCoarse(f *ptx.Func, outer coarseOuter, dim int) (*coarseRead, error) {
	c, err := readTurns(f, outer, dim)
	// what is written under a guard may depend on the turn, though it did not before
	for round := 0; err == nil && len(c.leaves) > 0 && (c.together != "" || c.size > 0) &&
		round < maxRounds; round++ {
		g, bad := c.underGuards(round)
		if bad != nil {
			return nil, c.stays(bad)
		}
		c, err = readTurns(g, outer, dim)
	}
	if err != nil {
		return nil, err
	}
	if err := c.stays(nil); err != nil {
		return nil, err
	}
	return c, nil
}

// stays says why not all threads stay in the jammed code, though they have to, nil if they do or
// need not. way: why a way can't be put under guards.
func (c *coarseRead) stays(way error) error {
	if len(c.leaves) == 0 || c.together == "" && c.size == 0 {
		return nil
	}
	text := "its threads cooperate (" + c.together + ")"
	if c.together == "" {
		text = "it uses shared memory"
	}
	text += ", and its control flow depends on the block index"
	if way == nil {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %w", text, way)
}

// readTurns reads what depends on the turn.
func readTurns(f *ptx.Func, outer coarseOuter, dim int) (*coarseRead, error) {
	flow, err := ir.Of(f)
	if err != nil {
		return nil, err
	}
	c := &coarseRead{Func: flow, dim: dim, shared: map[string]int{}, align: 16,
		many: make([]bool, len(f.Stmts)), varies: make([]bool, flow.Registers())}
	for _, name := range outer.names {
		c.shared[name], c.size, c.align = 0, outer.size, max(c.align, outer.align)
	}
	for n, g := range flow.Groups {
		switch pass.BitsOf(g.Type) {
		case pass.PredBits, 16, 32, 64:
		default:
			return nil, fmt.Errorf("it has registers of an unsupported kind (%s)", g.Name)
		}
		if g.Inner { // the same names may stand in other scopes
			g.Name = fmt.Sprintf("%si%d_%s", coarsePrefix, n, strings.TrimLeft(g.Name, "%"))
		}
		c.groups = append(c.groups, g.Name)
	}
	if err := c.callScopes(); err != nil {
		return nil, err
	}
	if err := c.look(); err != nil {
		return nil, err
	}
	c.spread()
	for i := range f.Stmts {
		switch x := c.Inst(i); {
		case !c.many[i] || x.Op == "" || skips(flow, i):
		case x.Op == "bra" || ends(x):
			c.leaves = append(c.leaves, i)
		case isBarrier(x) && !x.Has("red"):
			return nil, fmt.Errorf("which threads reach a barrier depends on the block index (%s)", f.Opcode(i))
		}
	}
	return c, nil
}

// look goes through the statements once: what can't be copied is an error.
func (c *coarseRead) look() error {
	f, count, numbered := c.Func, 0, false
	labels := map[string]bool{}
	for i, s := range f.Stmts {
		switch s.Kind {
		case ptx.Label:
			name := string(f.Opcode(i))
			if labels[name] {
				return fmt.Errorf("it has two labels called %s", name)
			}
			labels[name] = true
		case ptx.Decl:
			if err := c.declaration(i); err != nil {
				return err
			}
		case ptx.Direction:
			if op := string(f.Opcode(i)); op != ".pragma" {
				return fmt.Errorf("it has a %s", op)
			}
		case ptx.Inst:
			count++
			if why := uncoarse(c.Func, i); why != "" {
				return fmt.Errorf("it has %s (%s)", why, f.Opcode(i))
			}
			if acts(c.Inst(i)) && c.together == "" {
				c.together = string(f.Opcode(i))
			}
			if err := c.names(i, &numbered); err != nil {
				return err
			}
		}
	}
	last := len(f.Stmts) - 1
	for last > 0 && f.Stmts[last].Kind != ptx.Inst {
		last--
	}
	switch {
	case count > maxCoarseBody:
		return fmt.Errorf("it has %d instructions, and %d are the most that are copied", count,
			maxCoarseBody)
	case !numbered:
		return errNoNumber
	case f.Stmts[last].Guarded || !slices.Contains([]string{"ret", "exit", "bra", "trap"}, f.Inst(last).Op):
		return errors.New("its text does not end with its last instruction's end")
	}
	return nil
}

// falls reports a kernel whose text ends behind a label. What cicc knows to be never reached is
// such a one (a copy for a value, where the launch has another). In the rewritten text something
// else would follow.
func (c *coarseRead) falls() bool {
	for i := len(c.Stmts) - 1; i >= 0; i-- {
		switch c.Stmts[i].Kind {
		case ptx.Label:
			return true
		case ptx.Inst:
			return false
		}
	}
	return false
}

// declaration looks at a declaration that is no register's.
func (c *coarseRead) declaration(i int) error {
	switch kind := string(c.Opcode(i)); kind {
	case ".reg":
		return nil
	case ".shared":
		vars, err := c.Declared(i)
		if err != nil {
			return err
		}
		for _, v := range vars {
			at := max(v.Alignment(), 1)
			c.align = max(c.align, at)
			c.size = (c.size + at - 1) / at * at
			if v.Size() <= 0 || c.Stmts[i].Depth > 0 {
				return fmt.Errorf("it has an unsupported shared array (%s)", v.Name)
			}
			c.shared[v.Name] = c.size
			c.size += v.Size()
		}
		return nil
	case ".local":
		return errors.New("it has arrays in local memory")
	case ".param":
		if c.within[i] >= 0 {
			return nil
		}
		fallthrough
	default:
		return fmt.Errorf("it declares a variable of its own (%s)", kind)
	}
}

// names looks at the names in an instruction that are no registers of the body's.
func (c *coarseRead) names(i int, numbered *bool) error {
	f, s := c.Func, c.Stmts[i]
	var err error
	if s.Guarded && c.Inst(i).Guard == ir.None {
		return fmt.Errorf("it has a guard that it does not declare (%s)", f.Opcode(i))
	}
	c.Symbols(i, func(n ptx.Span) bool {
		name := string(f.Bytes(n))
		_, isShared := c.shared[name]
		switch {
		case isShared && !c.places(i, n):
			err = fmt.Errorf("it takes the address of a shared array in an unsupported way (%s)", f.Opcode(i))
		case name[0] != '%':
		case !shapeOf(name):
			err = fmt.Errorf("it reads %s", name)
		case name == "%ctaid."+"xyz"[c.dim:c.dim+1]:
			*numbered = true
		}
		return err == nil
	})
	return err
}

// places reports a shared array's name that it stands for a place in shared memory: in an address,
// or by itself in a move.
func (c *coarseRead) places(i int, n ptx.Span) bool {
	if x := c.Inst(i); x.Op == "mov" {
		return len(x.Args) == 2 && x.Args[1].At == n
	}
	return sharedPlace(c.Func, i) != nil
}

// sharedPlace is the address of an access to shared memory by its own address, nil for others.
func sharedPlace(f *ir.Func, i int) (at *ir.Operand) {
	if !ptx.OwnShared(f.Opcode(i)) {
		return nil
	}
	for n, o := range f.Inst(i).Args {
		if f.Bytes(o.At)[0] == '[' && (!o.Address || at != nil) {
			return nil
		} else if o.Address {
			at = &f.Inst(i).Args[n]
		}
	}
	return at
}

// spread works out what depends on the turn.
func (c *coarseRead) spread() {
	for i, s := range c.Stmts {
		c.many[i] = s.Kind == ptx.Inst && c.begins(i)
	}
	for changed := true; changed; {
		changed = false
		for i, s := range c.Stmts {
			if s.Kind != ptx.Inst {
				continue
			}
			scope := c.within[i]
			for _, a := range c.Accesses(i) {
				c.many[i] = c.many[i] || c.varies[a.Reg]
			}
			switch {
			case scope < 0:
			case c.many[scope] != c.many[i]: // all of it, or nothing
				c.many[scope], c.many[i], changed = true, true, true
			}
			for _, a := range c.Accesses(i) {
				if c.many[i] && a.Write && !c.varies[a.Reg] {
					c.varies[a.Reg], changed = true, true
				}
			}
		}
	}
}

// begins reports a instruction that depends on the turn, whatever its registers hold.
func (c *coarseRead) begins(i int) bool {
	number := "%ctaid." + "xyz"[c.dim:c.dim+1]
	reads := false
	c.Symbols(i, func(n ptx.Span) bool {
		reads = reads || string(c.Bytes(n)) == number
		return !reads
	})
	switch op := c.Opcode(i); c.Inst(i).Op {
	case "atom", "red", "sured":
		return true
	case "ld", "st", "ldu":
		return reads || ptx.OwnShared(op) || ptx.Strong(op)
	default:
		return reads || ptx.OwnShared(op)
	}
}

// shapeOf reports whether a special register is the launch's shape, or a thread's place in its warp,
// which all turns have in common.
func shapeOf(name string) bool {
	base, axis, dotted := strings.Cut(name, ".")
	if dotted && (len(axis) != 1 || !strings.Contains("xyz", axis)) {
		return false
	}
	switch base {
	case "%tid", "%ntid", "%ctaid", "%nctaid":
		return dotted
	case "%laneid", "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt":
		return !dotted
	}
	return false
}

func isBarrier(x *ir.Inst) bool { return x.Op == "bar" || x.Op == "barrier" }

// acts reports an instruction by which threads of a block or of a warp act together.
func acts(x *ir.Inst) bool {
	return isBarrier(x) || x.Op == "shfl" || x.Op == "vote" || x.Op == "match" || x.Op == "redux"
}

// uncoarse says why an instruction can't stand for several turns, "" if it can.
func uncoarse(f *ir.Func, i int) string {
	x := f.Inst(i)
	for _, word := range x.Words {
		switch {
		case strings.HasPrefix(word, "shared"):
			if sharedPlace(f, i) == nil {
				return "an unsupported access to shared memory"
			}
		case word == "local":
			return "an access to local memory"
		case word == "b128":
			return "a register of 128 bits"
		case word == "async" || word == "bulk" || word == "mmio" || word == "cluster":
			return "an access to what is not the thread's or the device's"
		}
	}
	if x.Carries() {
		return "a carry"
	}
	switch x.Op {
	case "bra", "ret", "exit", "trap", "ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu",
		"tex", "tld4", "suld", "sust", "sured", "membar", "fence", "call":
		return ""
	case "bar", "barrier":
		if x.Has("sync", "red") {
			return ""
		}
	case "shfl", "vote", "match", "redux":
		if x.Has("sync") {
			return ""
		}
	}
	if ir.Computes(x.Op) {
		return ""
	}
	return "an instruction that is not copied for several blocks"
}
