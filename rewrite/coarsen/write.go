package coarsen

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// What coarsen writes: the jammed code. Scopes are dissolved, since a copy's registers stand beside
// the others'.

const (
	coarsePrefix = "%gnvcc_j" // of registers
	coarseLabel  = "$gnvcc_jam"
	coarseShared = "gnvcc_jam_shared"
	coarseLocal  = "gnvcc_jam_local"
)

// maxCoarseText bounds the instructions of the rewritten kernel.
const maxCoarseText = 20000

// A coarseWriter writes a kernel anew.
type coarseWriter struct {
	*coarseRead
	turns int
	out   []string
	preds int // predicates of its own
	grid  int // of launches, in its dimension, where the turns don't divide it; else 0
}

// coarseText gives the body of the coarsened kernel.
func coarseText(c *coarseRead, turns, grid int) (string, error) {
	if grid > 0 && grid < turns {
		return "", fmt.Errorf("a grid of %d blocks has not %d of them", grid, turns)
	}
	w := &coarseWriter{coarseRead: c, turns: turns, grid: grid}
	w.begin()
	w.jam()
	if len(c.leaves) > 0 {
		if err := w.alone(); err != nil {
			return "", err
		}
	}
	if w.grid > 0 {
		w.left()
	}
	body := w.out
	w.out = nil
	if len(body) > maxCoarseText {
		return "", fmt.Errorf("it would have %d statements, and %d are the most", len(body), maxCoarseText)
	}
	w.declare()
	return "\n\t" + strings.Join(append(w.out, body...), "\n\t") + "\n", nil
}

func (w *coarseWriter) line(format string, args ...any) {
	w.out = append(w.out, fmt.Sprintf(format, args...))
}

// serial stands for the turn of the copy in which one turn goes on alone.
const serial = -1

// copyName is a register's or a declaration's name in a copy.
func copyName(name string, turn int) string {
	switch turn {
	case 0:
		return name
	case serial:
		return coarsePrefix + "s_" + strings.TrimLeft(name, "%")
	}
	return fmt.Sprintf("%s%d_%s", coarsePrefix, turn, strings.TrimLeft(name, "%"))
}

// register is what a register is called for a turn.
func (w *coarseWriter) register(r ir.Reg, turn int) string {
	if turn != serial && !w.varies[r] {
		turn = 0
	}
	n := w.Group(r)
	name := copyName(w.groups[n], turn)
	if g := &w.Groups[n]; g.Count > 0 {
		name = fmt.Sprint(name, r-g.Base)
	}
	return name
}

// declare writes the declarations, when it is known what is used.
func (w *coarseWriter) declare() {
	several := make([]bool, len(w.groups))
	for r, is := range w.varies {
		n := w.Group(ir.Reg(r))
		several[n] = several[n] || is
	}
	copies := []int{0}
	for u := 1; u < w.turns; u++ {
		copies = append(copies, u)
	}
	if len(w.leaves) > 0 {
		copies = append(copies, serial)
	}
	for _, u := range copies {
		for n, g := range w.Groups {
			switch name := copyName(w.groups[n], u); {
			case u > 0 && !several[n]:
			case g.Count > 0:
				w.line(".reg .%s %s<%d>;", g.Type, name, g.Count)
			default:
				w.line(".reg .%s %s;", g.Type, name)
			}
		}
	}
	w.line(".reg .b32 %sb<%d>, %sn, %st, %sw, %sx;", coarsePrefix, w.turns+1, coarsePrefix,
		coarsePrefix, coarsePrefix, coarsePrefix)
	w.line(".reg .b64 %sa<2>;", coarsePrefix)
	w.line(".reg .pred %sp<%d>, %sl;", coarsePrefix, w.preds+1, coarsePrefix)
	if w.size > 0 {
		w.line(".shared .align %d .b8 %s[%d];", w.align, coarseShared, w.turns*w.stride())
	}
}

// stride is how far the shared arrays of two turns are apart, bytes.
func (c *coarseRead) stride() int { return (c.size + c.align - 1) / c.align * c.align }

// begin works out the numbers of the turns' blocks, and gives a value to copies of registers that
// the kernel may read before it writes them.
func (w *coarseWriter) begin() {
	axis := "xyz"[w.dim : w.dim+1]
	w.line("mov.u32 %sb0, %%ctaid.%s;", coarsePrefix, axis)
	if w.grid > 0 {
		w.line("mov.u32 %sn, %d;", coarsePrefix, w.grid)
		w.line("setp.ge.u32 %sl, %sb0, %d;", coarsePrefix, coarsePrefix, w.grid/w.turns)
		w.line("@%sl bra %s_left;", coarsePrefix, coarseLabel)
	}
	w.line("mul.lo.u32 %sb0, %sb0, %d;", coarsePrefix, coarsePrefix, w.turns)
	for u := 1; u < w.turns; u++ {
		w.line("add.u32 %sb%d, %sb0, %d;", coarsePrefix, u, coarsePrefix, u)
	}
	if w.grid == 0 {
		w.line("mov.u32 %sn, %%nctaid.%s;", coarsePrefix, axis)
		w.line("mul.lo.u32 %sn, %sn, %d;", coarsePrefix, coarsePrefix, w.turns)
	}
	for _, r := range w.Live(0) {
		for u := 1; u < w.turns && w.varies[r]; u++ {
			w.zero(r, u)
		}
	}
}

// zero gives a register some value.
func (w *coarseWriter) zero(reg ir.Reg, turn int) {
	name, kind := w.register(reg, turn), w.Type(reg)
	if kind == "pred" {
		w.line("setp.ne.u32 %s, %sn, %sn;", name, coarsePrefix, coarsePrefix)
		return
	}
	w.line("mov.b%d %s, 0;", pass.BitsOf(kind), name)
}

// jam writes the body with what depends on the turn once for each.
func (w *coarseWriter) jam() {
	f := w.Func
	n := 0
	for i := 0; i < len(f.Stmts); i++ {
		switch f.Stmts[i].Kind {
		case ptx.Open:
			end, is := w.calls[i]
			if !is {
				continue
			}
			w.call(i, 0)
			for u := 1; u < w.turns && w.many[i]; u++ {
				w.call(i, u)
			}
			i = end
		case ptx.Inst:
			switch {
			case !w.many[i]:
				w.line("%s", w.statement(i, 0, ""))
			case skips(f, i):
				w.skip(i)
			case slices.Contains(w.leaves, i):
				w.agree(i, n)
				n++
			default:
				for u := range w.turns {
					w.line("%s", w.statement(i, u, ""))
				}
			}
		case ptx.Label, ptx.Line, ptx.Direction:
			w.line("%s", w.statement(i, 0, ""))
		}
	}
	if w.falls() {
		w.line("ret;")
	}
}

// left writes the kernel's own code for the blocks that are left over, where the turns don't divide
// the grid: of q times n blocks and a rest, the first q blocks that are launched do n each, and the
// others one. All threads of a block go one way, so that their barriers are their own.
func (w *coarseWriter) left() {
	w.line("%s_left:", coarseLabel)
	w.line("add.u32 %sb0, %sb0, %d;", coarsePrefix, coarsePrefix, w.grid/w.turns*(w.turns-1))
	w.own(0, len(w.Stmts), 0, coarseLabel+"_o_")
	if w.falls() {
		w.line("ret;")
	}
}

// agree writes a branch, or an end, on which turns may disagree: the n-th.
func (w *coarseWriter) agree(i, n int) {
	x := w.Inst(i)
	var of []string
	for u := range w.turns {
		of = append(of, w.register(x.Guard, u))
	}
	all, any := fmt.Sprintf("%sp%d", coarsePrefix, 2*n), fmt.Sprintf("%sp%d", coarsePrefix, 2*n+1)
	w.preds = max(w.preds, 2*n+2)
	first := of[0]
	other := first
	for _, p := range of[1:] {
		w.line("and.pred %s, %s, %s;", all, first, p)
		w.line("or.pred %s, %s, %s;", any, other, p)
		first, other = all, any
	}
	goes, some := "@"+all, "@"+any
	if x.Unless {
		goes, some = "@!"+any, "@!"+all
	}
	if x.Op == "bra" {
		w.line("%s bra %s;", goes, x.Args[0].Text)
	} else {
		w.line("%s ret;", goes)
	}
	w.line("%s bra %s_leave%d;", some, coarseLabel, n)
}

// statement is one statement's text for a turn. label stands in front of the names of labels.
func (w *coarseWriter) statement(i, turn int, label string) string {
	f, s := w.Func, w.Stmts[i]
	type change struct {
		at   ptx.Span
		text string
	}
	var list []change
	add := func(at ptx.Span, text string) { list = append(list, change{at, text}) }
	switch {
	case s.Kind == ptx.Label:
		return label + string(f.Opcode(i)) + ":"
	case s.Kind != ptx.Inst:
		return string(f.Text()[s.Start:s.End])
	}
	for _, a := range w.Accesses(i) {
		add(a.At, w.register(a.Reg, turn))
	}
	x := f.Inst(i)
	if x.Op == "bra" {
		add(x.Args[0].At, label+x.Args[0].Text)
		add(ptx.Span{Start: s.Op, End: s.OpEnd}, "bra")
	}
	axis := "xyz"[w.dim : w.dim+1]
	f.Names(ptx.Span{Start: s.OpEnd, End: s.End}, func(n ptx.Span) bool {
		switch name := string(f.Bytes(n)); {
		case name == "%ctaid."+axis && turn == serial:
			add(n, fmt.Sprintf("%sb%d", coarsePrefix, w.turns))
		case name == "%ctaid."+axis:
			add(n, fmt.Sprintf("%sb%d", coarsePrefix, turn))
		case name == "%nctaid."+axis:
			add(n, coarsePrefix+"n")
		case x.Op == "mov":
			if at, ok := w.shared[name]; ok {
				add(n, fmt.Sprintf("%s+%d", coarseShared, at))
			}
		}
		return true
	})
	if o := sharedPlace(f, i); o != nil {
		base, offset := o.Text, o.Offset+turn*w.stride()
		if array, is := w.shared[base]; is {
			base, offset = coarseShared, offset+array
		}
		if o.Reg != ir.None {
			base = w.register(o.Reg, turn)
		}
		list = slices.DeleteFunc(list, func(c change) bool {
			return o.At.Start <= c.at.Start && c.at.End <= o.At.End
		})
		add(o.At, fmt.Sprintf("[%s+%d]", base, offset))
	}
	slices.SortFunc(list, func(a, b change) int { return int(a.at.Start) - int(b.at.Start) })
	var text strings.Builder
	from := s.Start
	for _, c := range list {
		text.Write(f.Bytes(ptx.Span{Start: from, End: c.at.Start}))
		text.WriteString(c.text)
		from = c.at.End
	}
	text.Write(f.Bytes(ptx.Span{Start: from, End: s.End}))
	return text.String()
}

var errCoarseNames = errors.New("the kernel has names that begin with " + coarsePrefix + " or " +
	coarseLabel + " already")
