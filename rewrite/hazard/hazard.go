package hazard

import (
	"fmt"
	"sort"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// A Class is one way in which synchronisation goes wrong.
type Class string

const (
	// before Volta: the lanes that got out wait for those that spin
	Lockstep Class = "lanes of a warp wait for each other"
	Held     Class = "a barrier while a lock is held"
	Divided  Class = "a barrier that not all threads reach"
	Order    Class = "locks in no fixed order"
	Fence    Class = "no fence before a release"
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
	w, err := ir.Of(f)
	if err != nil {
		return nil, err
	}
	k := &kernelView{Func: w, module: m, spins: w.Spins(), shapes: shapes}
	k.depend()
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
	shapes [][3]int
	found  []placed

	thread, read *ir.Spread // depend
	effort       int        // what evaluate may still do
	files        map[string]string
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

// target is the architecture that the text is for, 75 for sm_75; 0 where that is not known.
func (k *kernelView) target() int {
	for _, t := range k.module.Target {
		if n := ptx.Capability(t); n > 0 {
			return n
		}
	}
	return 0
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
