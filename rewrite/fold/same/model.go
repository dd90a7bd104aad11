package same

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// A kernel as a graph of values: each instruction that computes in floating point, or hands its
// value on where nobody follows it (a store, a conversion to an integer), is a node; what its
// operands may hold are other nodes. Moves, selections, local memory and functions' parameters are
// followed through. A selection is a node, too: with its predicate it tells which of an operand's
// constants is which.

// A kind says what a node is.
type kind uint8

const (
	operation kind = iota // in floating point, or a store and the like
	integer               // an instruction on integers
	load                  // from memory that others write, too
	constant              // a number in the code
	parameter             // of the entry
	special               // a special register, an address
	called                // the result of a function that nobody sees into
	choice                // of two values, by a predicate
	unused                // a product that ptxas contracted with all of its sums
)

// A node is one value. Operands are its values, without addresses.
type node struct {
	kind  kind
	fn    *ptx.Func
	at    int
	op    string // with all modifiers
	base  string
	where string // the statement of the source; "" where it is not known
	// identity: a constant's bits, a parameter's number and offset, a load's space and place
	name string
	text []string // operands, as written
	ops  [][]int  // by operand: the nodes that it may hold, sorted
	// by operand: the same with selections as nodes; nil where there is none
	chosen [][]int
	args   []string // by operand: as written
	// by operand, once it was asked: whether no variant in which nothing is fixed knows which of them
	// it is (1: so it is, 2: not so)
	alike []uint8
	root  map[int]bool // of a load or store: what its address may be made of (roots)
	// of a load: from variables of the module, and such that hold no 0
	table, nonzero bool
	lane           int  // of a load or store: which of its several registers
	merged         bool // a store of several values: they may be of several statements
	place          residue
	// of a load: the one load whose number its address is computed from; nil: none, or several
	index *node
}

func (n *node) statement() Statement { return Statement{n.fn, n.at} }

func (n *node) String() string {
	if n.kind == constant || n.kind == parameter || n.kind == special {
		return n.name
	}
	return line(n.fn, n.at) + " (" + n.where + ")"
}

func line(f *ptx.Func, i int) string {
	st := f.Stmts[i]
	return strings.Join(strings.Fields(strings.TrimSuffix(string(f.Bytes(ptx.Span{Start: st.Start,
		End: st.End})), ";")), " ")
}

// A graph is what is known of one of the two kernels.
type graph struct {
	nodes []*node
	built Built
	files map[string]string
	head  string // the file and line of the kernel's head, while its places are read

	funcs  []*function
	byName map[string]*function
	leaf   map[string]int // constants and the like, by identity
	stored map[string][]source
	rests  []residue // by node
	ways   ways
	// at present: loads are taken for what they may be handed (roughened)
	handing map[int][]int
	signs   map[list][]int // signless, so far
}

// A list is one of a node's lists of nodes, which nobody changes once all are made.
type list struct {
	first *int
	count int
}

func listOf(origins []int) list {
	if len(origins) == 0 {
		return list{}
	}
	return list{&origins[0], len(origins)}
}

// A source is an operand of a statement.
type source struct {
	f    *function
	at   int
	text string
}

// A function is one that the kernel reaches.
type function struct {
	*ptx.Func
	reach *dataflow.Reaching
	round *fold.Rounds
	where []string
	node  map[int]int // by statement: its node; of a load of several values the first one's
	// what stands behind a place of .param space, by scope: which function's which parameter
	calls   map[string]call
	args    map[int][]source // by parameter: what it is called with
	ret     []source
	selects map[int]int      // by statement: a selection's node
	local   map[int][]source // what is stored to local memory, by the variable's offset
	vars    localVars
	varAt   map[int]int // by statement: the variable that it reads or writes
	ops     map[int][]string
	behind  []bool // by block: behindWrites; nil: not asked yet
}

type call struct {
	to  string
	arg int // -1: the result
}

var fileLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"`)
})

// read makes a kernel's graph.
func read(b Built) (*graph, error) {
	reach, err := b.Module.Reach(b.Entry)
	if err != nil {
		return nil, err
	}
	g := &graph{built: b, files: map[string]string{}, byName: map[string]*function{},
		leaf: map[string]int{}, stored: map[string][]source{}, signs: map[list][]int{},
		ways: ways{number: map[spot]int{}, lists: map[string][]int{}}}
	for _, m := range fileLine().FindAllSubmatch(b.Module.Bytes(), -1) {
		g.files[string(m[1])] = string(m[2])
	}
	for _, f := range reach.Funcs {
		if !f.Body {
			continue
		}
		if f.Entry && f.Name != b.Entry {
			return nil, fmt.Errorf("%s starts the kernel %s", b.Entry, f.Name)
		}
		x := &function{Func: f, node: map[int]int{}, calls: map[string]call{},
			args: map[int][]source{}, selects: map[int]int{},
			ops: map[int][]string{}, local: map[int][]source{},
			varAt: map[int]int{}}
		if x.reach, err = dataflow.ReachingOf(f); err != nil {
			return nil, err
		}
		x.round = fold.RoundsOf(f, x.reach.Blocks)
		g.funcs = append(g.funcs, x)
		g.byName[f.Name] = x
	}
	for _, f := range g.funcs {
		if err := g.places(f); err != nil {
			return nil, err
		}
		for i := range f.Stmts {
			f.ops[i] = f.operands(i)
		}
	}
	for _, f := range g.funcs {
		if err := g.memory(f); err != nil {
			return nil, err
		}
	}
	for _, f := range g.funcs {
		g.instructions(f)
	}
	for n := 0; n < len(g.nodes); n++ { // leaves are added meanwhile
		g.link(g.nodes[n], n)
	}
	g.tables()
	g.residues()
	g.fuse(b.Contracted)
	return g, nil
}

// places reads which statement of the source each instruction is of.
func (g *graph) places(f *function) error {
	f.where = make([]string, len(f.Stmts))
	now := ""
	g.head = ""
	for i, st := range f.Stmts {
		if st.Kind == ptx.Line && string(f.Opcode(i)) == ".loc" {
			var err error
			if now, err = g.place(line(f.Func, i)); err != nil {
				return err
			}
			if g.head == "" && f.Entry {
				g.head = strings.TrimSuffix(now, ":0")
			}
		}
		f.where[i] = now
	}
	return nil
}

// place reads `.loc file line column[, function_name label, inlined_at file line column]`.
func (g *graph) place(text string) (string, error) {
	own, from, inlined := strings.Cut(text, "inlined_at")
	out, known, err := g.position(strings.Fields(strings.ReplaceAll(own, ",", " "))[1:])
	if err != nil {
		return "", fmt.Errorf("read %q: %w", text, err)
	}
	if inlined {
		at, _, err := g.position(strings.Fields(from))
		if err != nil {
			return "", fmt.Errorf("read %q: %w", text, err)
		}
		out += " in " + at
	}
	if !known {
		return "", nil
	}
	return out, nil
}

func (g *graph) position(words []string) (text string, known bool, err error) {
	if len(words) < 3 {
		return "", false, fmt.Errorf("a place has three numbers")
	}
	line, err := strconv.Atoi(words[1])
	if err != nil {
		return "", false, err
	}
	column, err := strconv.Atoi(words[2])
	if err != nil || line == 0 {
		return "", false, err
	}
	// Of what stands in the line of a kernel's head the columns are those behind macros that cudafe++
	// has put there, and others in a copy of its body.
	where := fmt.Sprintf("%s:%d", g.files[words[0]], line)
	if where == g.head {
		return where, true, nil
	}
	return fmt.Sprintf("%s:%d", where, column), true, nil
}

func (f *function) operands(i int) []string {
	if f.Stmts[i].Kind != ptx.Inst {
		return nil
	}
	var out []string
	for _, o := range f.Operands(i, nil) {
		out = append(out, string(f.Bytes(o)))
	}
	return out
}

// parts are the registers or numbers of an operand: several, where it stands in braces.
func parts(text string) []string {
	if !strings.HasPrefix(text, "{") {
		return []string{text}
	}
	var out []string
	for _, p := range strings.Split(strings.Trim(text, "{}"), ",") {
		out = append(out, strings.TrimSpace(p))
	}
	return out
}

// base is an address' register or variable, and its offset.
func base(address string) (name string, offset int) {
	inside := strings.TrimSpace(strings.Trim(address, "[]"))
	name = strings.TrimRight(inside, " ")
	if at := strings.IndexAny(inside, "+-"); at > 0 {
		name = strings.TrimSpace(inside[:at])
		text := strings.TrimLeft(strings.ReplaceAll(inside[at:], " ", ""), "+")
		by, _ := strconv.ParseInt(text, 0, 64) // of inline assembly, in any base
		offset = int(by)
	}
	return name, offset
}

// memory finds what is stored to local memory, the calls, and what is handed to them and returned.
func (g *graph) memory(f *function) error {
	scopes := []int{-1}
	named := map[string]bool{}
	f.vars = f.localVars()
	for i, st := range f.Stmts {
		switch st.Kind {
		case ptx.Open:
			scopes = append(scopes, i)
		case ptx.Close:
			scopes = scopes[:len(scopes)-1]
		}
		if st.Kind != ptx.Inst {
			continue
		}
		op, ops := f.Opcode(i), f.ops[i]
		scope := scopes[len(scopes)-1]
		switch string(f.Base(i)) {
		case "cvta":
			if ptx.HasModifier(op, "local") && !ptx.HasModifier(op, "to") {
				return fmt.Errorf("%s hands out an address of local memory: who reads it is not known", f.Name)
			}
		case "call":
			to, err := callee(ops)
			if err != nil {
				return fmt.Errorf("%s in %s: %w", line(f.Func, i), f.Name, err)
			}
			if g.byName[to.name] == nil && !plainCalls[to.name] {
				return fmt.Errorf("%s calls %s, and what that does is not known", f.Name, to.name)
			}
			for _, r := range to.results {
				f.calls[fmt.Sprint(scope, r)] = call{to.name, -1}
			}
			for k, a := range to.args {
				key := fmt.Sprint(scope, a)
				if named[key] {
					return fmt.Errorf("%s in %s: an argument is handed on twice", line(f.Func, i), f.Name)
				}
				named[key] = true
				f.calls[key] = call{to.name, k}
			}
		case "st":
			if len(ops) < 2 {
				return fmt.Errorf("%s in %s: a store of nothing", line(f.Func, i), f.Name)
			}
			for _, v := range parts(ops[1]) {
				if ptx.Space(op) == "local" || ptx.Space(op) == "" {
					k := f.vars.of(f, i, ops[0])
					f.local[k] = append(f.local[k], source{f, i, v})
				}
			}
		}
	}
	return g.handed(f)
}

// handed finds what is handed to functions and returned, when all calls are known: stores of
// arguments stand before their call.
func (g *graph) handed(f *function) error {
	scopes := []int{-1}
	for i, st := range f.Stmts {
		switch st.Kind {
		case ptx.Open:
			scopes = append(scopes, i)
		case ptx.Close:
			scopes = scopes[:len(scopes)-1]
		}
		if st.Kind != ptx.Inst || string(f.Base(i)) != "st" ||
			ptx.Space(f.Opcode(i)) != "param" {
			continue
		}
		name, _ := base(f.ops[i][0])
		for _, v := range parts(f.ops[i][1]) {
			src := source{f, i, v}
			if len(f.Returns) > 0 && name == f.Returns[0].Name {
				f.ret = append(f.ret, src)
				continue
			}
			c, ok := f.calls[fmt.Sprint(scopes[len(scopes)-1], name)]
			if !ok {
				return fmt.Errorf("%s in %s: no call for it", line(f.Func, i), f.Name)
			}
			if to := g.byName[c.to]; to != nil {
				to.args[c.arg] = append(to.args[c.arg], src)
			}
		}
	}
	return nil
}

// plainCalls are functions without a body that are handed no results of floating point.
var plainCalls = map[string]bool{"malloc": true, "free": true, "__assertfail": true}

type target struct {
	name          string
	results, args []string
}

// callee reads a call's operands: (result), name, (arguments).
func callee(ops []string) (target, error) {
	var t target
	if len(ops) > 0 && strings.HasPrefix(ops[0], "(") {
		t.results = names(ops[0])
		ops = ops[1:]
	}
	if len(ops) == 0 || strings.HasPrefix(ops[0], "%") {
		return t, fmt.Errorf("a call whose function is not known")
	}
	t.name = ops[0]
	if len(ops) > 1 {
		t.args = names(ops[1])
	}
	return t, nil
}

func names(text string) []string {
	var out []string
	for _, w := range strings.Split(strings.Trim(text, "()"), ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}
