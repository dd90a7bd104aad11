package hazard

import (
	"fmt"
	"sort"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// A Class is one way in which synchronisation goes wrong, or could be cheaper.
type Class string

// Only Named is no danger.
const (
	// before Volta: the lanes that got out wait for those that spin
	Lockstep Class = "lanes of a warp wait for each other"
	Held     Class = "a barrier while a lock is held"
	Divided  Class = "a barrier that not all threads reach"
	Order    Class = "locks in no fixed order"
	Fence    Class = "no fence before a release"
	Named    Class = "a named barrier might do" // a hint
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
	where := ""
	if f.Where != "" {
		where = " at " + f.Where
	}
	return fmt.Sprintf("%s%s: %s; %s", f.Class, where, f.Text, f.Advice)
}

// Find looks through one kernel. shapes are the blocks that it is known to be launched with;
// without any, only what holds for usual shapes is reported.
func Find(m *ptx.Module, kernel string, shapes [][3]int) ([]Finding, error) {
	f := m.Entry(kernel)
	if f == nil || !f.Body {
		return nil, fmt.Errorf("hazard: no kernel %s in this PTX", kernel)
	}
	interesting := false
	for i, s := range f.Stmts {
		if s.Kind == ptx.Inst {
			switch string(f.Base(i)) {
			case "atom", "bar", "barrier":
				interesting = true
			}
		}
	}
	if !interesting {
		return nil, nil
	}
	w, err := dataflow.Walk(f)
	if err != nil {
		return nil, err
	}
	k := &kernelView{Func: f, walk: w, module: m, spins: w.Spins(), shapes: shapes}
	k.graph = newWays(w.Blocks, k.ends)
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
	*ptx.Func
	walk   *dataflow.Walker
	module *ptx.Module
	spins  []dataflow.Spin
	shapes [][3]int
	graph  ways
	found  []placed

	dependence map[string]depends
	effort     int // what evaluate may still do
	files      map[string]string
}

type placed struct {
	Finding
	stmt int
}

func (k *kernelView) tell(stmt int, class Class, text, advice string) {
	k.found = append(k.found, placed{Finding{k.Name, class, k.line(stmt), text, advice}, stmt})
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

// target is the architecture that the text is for, 75 for sm_75; 0 where that is not known.
func (k *kernelView) target() int {
	for _, t := range k.module.Target {
		if n := ptx.Capability(t); n > 0 {
			return n
		}
	}
	return 0
}

// operands are an instruction's, as texts.
func (k *kernelView) operands(i int) []string {
	var out []string
	for _, s := range k.Operands(i, nil) {
		out = append(out, string(k.Bytes(s)))
	}
	return out
}

// blockOf is the block of a statement.
func (k *kernelView) blockOf(stmt int) int {
	return sort.Search(len(k.walk.Blocks), func(n int) bool { return k.walk.Blocks[n].Last > stmt })
}

// ends tells whether a block may leave the function.
func (k *kernelView) ends(block int) bool {
	b := k.walk.Blocks[block]
	if len(b.Succs) == 0 {
		return true
	}
	last := b.Last - 1
	if k.Stmts[last].Kind != ptx.Inst {
		return false
	}
	switch string(k.Base(last)) {
	case "ret", "exit", "trap":
		return true
	}
	return false
}

// blockBarrier tells whether an instruction is a barrier for all threads of the block.
func (k *kernelView) blockBarrier(i int) bool {
	op := k.Opcode(i)
	switch string(k.Base(i)) {
	case "bar", "barrier":
	default:
		return false
	}
	if ptx.HasModifier(op, "cluster") || ptx.HasModifier(op, "warp") || ptx.HasModifier(op, "arrive") {
		return false
	}
	n := len(k.operands(i))
	if ptx.HasModifier(op, "red") {
		return n == 3 // d, a, p; with a number of threads 4
	}
	return ptx.HasModifier(op, "sync") && n == 1
}
