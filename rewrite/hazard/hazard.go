package hazard

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// A Class is one way in which synchronisation goes wrong.
type Class string

const (
	Held    Class = "a barrier while a lock is held"
	Divided Class = "a barrier that not all threads reach"
	Order   Class = "locks in no fixed order"
	Fence   Class = "no fence before a release"
)

// A Finding is one place of one kernel.
type Finding struct {
	Kernel string // mangled
	Class  Class
	Where  string // "locks.cu:12"; "" where the PTX has no line numbers (-lineinfo gives them)
	Text   string // what happens
	Advice string // what to do
}

func (f Finding) String() string {
	return fmt.Sprintf("%s%s: %s; %s", f.Class, at(f.Where), f.Text, f.Advice)
}

func at(line string) string {
	if line == "" {
		return ""
	}
	return " at " + line
}

// Find looks at what happens in one kernel between taking a lock and giving it free, and at barriers in
// conditions.
func Find(m *ptx.Module, kernel string) ([]Finding, error) {
	f := m.Entry(kernel)
	if f == nil || !f.Body {
		return nil, fmt.Errorf("hazard: no kernel %s in this PTX", kernel)
	}
	w, err := ir.Of(f)
	if err != nil {
		return nil, err
	}
	k := &kernelView{Func: w, module: m, spins: w.Spins()}
	for _, s := range k.spins {
		k.lock(s)
	}
	k.order()
	k.barriers()
	sort.SliceStable(k.found, func(i, j int) bool { return k.found[i].stmt < k.found[j].stmt })
	var out []Finding
	for _, p := range k.found {
		out = append(out, p.Finding)
	}
	return out, nil
}

// A kernelView is a kernel with all that is worked out of it.
type kernelView struct {
	*ir.Func
	module *ptx.Module
	spins  []ir.Spin
	found  []placed
	files  map[string]string
}

type placed struct {
	Finding
	stmt int
}

func (k *kernelView) tell(stmt int, class Class, text, advice string) {
	k.found = append(k.found, placed{Finding{k.Func.Func.Name, class, k.line(stmt), text, advice}, stmt})
}

// line is the user's line of a statement, by the last .loc in front of it. What was inlined is
// reported where it was inlined.
func (k *kernelView) line(stmt int) string {
	for i := stmt; i >= 0; i-- {
		if k.Stmts[i].Kind != ptx.Line || string(k.Opcode(i)) != ".loc" {
			continue
		}
		text := string(k.Text()[k.Stmts[i].Start:k.Stmts[i].End])
		if _, outer, ok := strings.Cut(text, "inlined_at"); ok {
			text = ".loc " + outer
		}
		words := strings.Fields(strings.ReplaceAll(text, ",", " "))
		if len(words) < 3 || words[2] == "0" { // line 0: the compiler's own
			continue
		}
		name := k.file(words[1])
		if name == "" {
			return ""
		}
		return name + ":" + words[2]
	}
	return ""
}

// file is the last part of the name behind a .file number.
func (k *kernelView) file(number string) string {
	if k.files == nil {
		k.files = make(map[string]string)
		for _, line := range strings.Split(string(k.module.Bytes()), "\n") {
			rest, ok := strings.CutPrefix(strings.TrimSpace(line), ".file")
			if !ok {
				continue
			}
			id, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
			if name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(rest), `"`), `"`); ok {
				k.files[id] = name[strings.LastIndexByte(name, '/')+1:]
			}
		}
	}
	return k.files[number]
}

// blockBarrier reports whether an instruction is a barrier for all threads of the block.
func (k *kernelView) blockBarrier(i int) bool {
	x := k.Inst(i)
	if x.Op != "bar" && x.Op != "barrier" || x.Has("cluster", "warp", "arrive") {
		return false
	}
	if x.Has("red") {
		return len(x.Args) == 3 // d, a, p; with a number of threads 4
	}
	return x.Has("sync") && len(x.Args) == 1
}

// dirty is the state of a walk with a lock held: data was written since the last fence.
const dirty = 1

// lock looks at one spin loop.
func (k *kernelView) lock(s ir.Spin) {
	frees := k.releases(s)
	if len(frees) == 0 {
		return
	}
	barrier, unfenced := -1, -1
	k.AfterTaking(s, func(i int, state uint8) (uint8, bool) {
		op := k.Opcode(i)
		switch {
		case slices.Contains(frees, i):
			if state&dirty != 0 && unfenced < 0 && !ptx.HasAny(op, "release", "acq_rel") {
				unfenced = i
			}
			return 0, false
		case k.blockBarrier(i):
			if barrier < 0 {
				barrier = i
			}
			return state &^ dirty, true
		}
		switch k.Inst(i).Op {
		case "membar", "fence":
			return state &^ dirty, true
		case "st": // to memory that others see
			if space := ptx.Space(op); space != "local" && space != "param" && !ptx.HasModifier(op, "async") {
				state |= dirty
			}
		case "call": // what it does is not known here
			return 0, false
		}
		return state, true
	})
	if barrier >= 0 && fixed(s) && !k.singled(s.Atom) {
		k.tell(barrier, Held, "a thread that has the lock taken"+at(k.line(s.Atom))+
			" waits at a block-wide barrier for threads that wait for that lock",
			"release the lock before __syncthreads(), or let one thread of the block take it")
	}
	if unfenced >= 0 {
		k.tell(unfenced, Fence, "data written under the lock taken"+at(k.line(s.Atom))+
			" may become visible after the release: nothing orders the two",
			"put __threadfence_block() in front of the release (and behind the acquire), or use cuda::atomic_ref with release and acquire")
	}
}

// fixed reports whether a lock is the same one for all threads: a variable, or a fixed place in one.
func fixed(s ir.Spin) bool { return !strings.Contains(s.Lock, "%") }

// releases are the statements that write to the address of the lock and are no attempt to take it.
func (k *kernelView) releases(s ir.Spin) []int {
	var out []int
	for i := range k.Stmts {
		switch k.Inst(i).Op {
		case "st", "red", "atom":
			attempt := slices.ContainsFunc(k.spins, func(s ir.Spin) bool { return s.Atom == i })
			if !attempt && k.Location(i) == s.Lock {
				out = append(out, i)
			}
		}
	}
	return out
}

// singled reports whether a statement is run by a few threads only that a comparison for equality
// picks out by their index: `if (threadIdx.x % 32 == 0)`.
func (k *kernelView) singled(stmt int) bool {
	block := k.Block(stmt)
	for b := range k.Blocks {
		x := k.Inst(k.Blocks[b].Last - 1)
		if x.Guard == ir.None || x.Op != "bra" || len(k.Blocks[b].Succs) != 2 {
			continue
		}
		for side, along := range k.Blocks[b].Succs { // the first is the branch's target
			if k.picks(x.Guard, (side == 0) != x.Unless, 6) && k.only(block, b, along) {
				return true
			}
		}
	}
	return false
}

// only reports whether every way from the entry to a block goes along the edge from -> along.
func (k *kernelView) only(block, from, along int) bool {
	blocks := slices.Clone(k.Blocks)
	blocks[from].Succs = slices.DeleteFunc(slices.Clone(blocks[from].Succs), func(s int) bool {
		return s == along
	})
	return !ptx.Onward(blocks, []int{0}, nil)[block]
}

// picks reports whether a predicate with that value means that something of the thread's index
// equals something.
func (k *kernelView) picks(predicate ir.Reg, holds bool, depth int) bool {
	if predicate == ir.None || len(k.Defs(predicate)) != 1 || depth == 0 {
		return false
	}
	x := k.Inst(k.Defs(predicate)[0])
	switch n := len(x.Args); {
	case x.Op == "setp" && n > 2 && (holds && x.Has("eq") || !holds && x.Has("ne")):
		return slices.ContainsFunc(x.Args[1:], func(o ir.Operand) bool {
			text := k.Expression(o)
			return strings.Contains(text, "%tid") || strings.Contains(text, "%laneid")
		})
	case x.Is("not.pred") && n > 1:
		return k.picks(x.Args[1].Reg, !holds, depth-1)
	case n > 2 && (x.Is("and.pred") && holds || x.Is("or.pred") && !holds):
		return k.picks(x.Args[1].Reg, holds, depth-1) || k.picks(x.Args[2].Reg, holds, depth-1)
	}
	return false
}

// order looks for two locks that are held together: taken in one order here and in the other there.
func (k *kernelView) order() {
	type pair struct{ outer, inner ir.Spin }
	var pairs []pair
	for _, a := range k.spins {
		frees := k.releases(a)
		if len(frees) == 0 || !fixed(a) {
			continue
		}
		seen := map[int]bool{}
		k.AfterTaking(a, func(i int, state uint8) (uint8, bool) {
			if slices.Contains(frees, i) || k.Inst(i).Op == "call" {
				return 0, false
			}
			for _, b := range k.spins {
				if b.Atom == i && !seen[i] && b.Lock != a.Lock && fixed(b) {
					seen[i] = true
					pairs = append(pairs, pair{a, b})
				}
			}
			return 0, true
		})
	}
	found := map[int]bool{}
	for n, p := range pairs {
		for _, q := range pairs[n+1:] {
			if p.outer.Lock == q.inner.Lock && p.inner.Lock == q.outer.Lock && !found[q.inner.Atom] {
				found[q.inner.Atom] = true
				k.tell(q.inner.Atom, Order, "two locks are taken in one order here and in the other"+
					at(k.line(p.inner.Atom))+": two threads can each have one and wait for the other for ever",
					"take locks in one order everywhere: the smaller address or index first")
			}
		}
	}
}
