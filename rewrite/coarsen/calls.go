package coarsen

import (
	"fmt"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Calls. cicc writes one in a scope of its own, straight through, with the places in which its
// arguments are handed over:
//
//	{
//	.param .b64 param0;
//	st.param.f64 [param0+0], %fd18;
//	.param .b64 retval0;
//	call.uni (retval0), sine, (param0);
//	ld.param.f64 %fd19, [retval0+0];
//	}
//
// The scope stands as one piece: once, where nothing in it depends on the turn, else once for each.
// So what blocks compute by the thread's number alone (the sines of a Fourier transform) is
// computed once for all of them.
//
// Allowed are functions of the same text that give back what follows from their arguments, from
// memory that is read by weak loads, and from the thread's number and the size of its block. They
// write nothing but their own frame, know no shared memory, wait for no one and call such functions
// alone.
//
// Safe: such a function does for a turn what it does for the thread that the turn stands for, and
// what it reads for all turns at once is read as the kernel's own weak loads are.

// coarseCalls says why a kernel calls something that must not stand for several turns, nil if it
// calls nothing or what may. reach is the kernel's.
func coarseCalls(reach *ptx.Reach) error {
	for n, f := range reach.Funcs {
		for i, s := range f.Stmts {
			if s.Kind == ptx.Inst && string(f.Base(i)) == "call" && (f.CallsByPointer(i) || s.Guarded) {
				return fmt.Errorf("it calls a function in an unsupported way (%s)", f.Name)
			}
		}
		if n == 0 {
			continue // the kernel
		}
		if why := coarseCallee(f); why != "" {
			return fmt.Errorf("it calls %s, which %s", f.Name, why)
		}
	}
	return nil
}

// coarseCallee says why a function must not be called for several turns, "" if it may.
func coarseCallee(f *ptx.Func) string {
	if f.Entry || !f.Body {
		return "is not in the PTX"
	}
	flow, err := ir.Of(f)
	if err != nil {
		return "can't be followed: " + err.Error()
	}
	for i, s := range f.Stmts {
		switch s.Kind {
		case ptx.Decl:
			if kind := string(f.Opcode(i)); kind != ".reg" && kind != ".local" && kind != ".param" {
				return "declares a variable of its own (" + kind + ")"
			}
		case ptx.Inst:
			if !coarseCalled(flow, i) {
				return fmt.Sprintf("does more than compute (%s)", f.Opcode(i))
			}
			read := ""
			flow.Symbols(i, func(n ptx.Span) bool {
				name := string(f.Bytes(n))
				base, _, _ := strings.Cut(name, ".")
				if name[0] == '%' && (base != "%tid" && base != "%ntid" || !shapeOf(name)) {
					read = name
				}
				return read == ""
			})
			if read != "" {
				return "reads " + read
			}
		}
	}
	return ""
}

// coarseCalled reports a instruction that a called function may have.
func coarseCalled(f *ir.Func, i int) bool {
	x := f.Inst(i)
	for _, word := range x.Words {
		if strings.HasPrefix(word, "shared") || word == "cluster" || word == "async" || word == "mmio" {
			return false
		}
	}
	in := func(spaces ...string) bool { return x.Has(spaces...) && !ptx.Strong(f.Opcode(i)) }
	switch x.Op {
	case "bra", "ret", "call":
		return true
	case "ld":
		return in("param", "local", "global", "const")
	case "st":
		return in("param", "local")
	}
	return ir.Computes(x.Op) || x.Carries()
}

// callScopes finds the scopes of calls: where each one ends, by where it begins.
func (c *coarseRead) callScopes() error {
	f := c.Func
	c.calls, c.within = map[int]int{}, make([]int, len(f.Stmts))
	for i := range c.within {
		c.within[i] = -1
	}
	for i, s := range f.Stmts {
		if s.Kind != ptx.Open {
			continue
		}
		end, calls := i+1, false
		for ; f.Stmts[end].Kind != ptx.Close && f.Stmts[end].Kind != ptx.Open; end++ {
			calls = calls || f.Inst(end).Op == "call"
		}
		if !calls || f.Stmts[end].Kind != ptx.Close {
			continue
		}
		for k := i; k <= end; k++ {
			switch kind := f.Stmts[k].Kind; {
			case kind == ptx.Label || kind == ptx.Direction,
				kind == ptx.Inst && !aroundCall(f.Inst(k)):
				return fmt.Errorf("it has an unsupported call (%s)", f.Opcode(k))
			}
			c.within[k] = i
		}
		c.calls[i] = end
	}
	for i := range f.Stmts {
		if f.Inst(i).Op == "call" && c.within[i] < 0 {
			return fmt.Errorf("it has an unsupported call (%s)", f.Opcode(i))
		}
	}
	return nil
}

// aroundCall reports the instructions that may stand in a call's scope.
func aroundCall(x *ir.Inst) bool {
	return x.Op == "call" || (x.Op == "ld" || x.Op == "st") && x.Has("param") || ir.Computes(x.Op)
}

// call writes a call's scope for a turn.
func (w *coarseWriter) call(open, turn int) {
	w.line("{")
	for i := open + 1; i < w.calls[open]; i++ {
		switch s := w.Stmts[i]; {
		case s.Kind == ptx.Decl && string(w.Opcode(i)) == ".param":
			w.line("%s", w.Text()[s.Start:s.End])
		case s.Kind == ptx.Inst, s.Kind == ptx.Line:
			w.line("%s", w.statement(i, turn, ""))
		}
	}
	w.line("}")
}
