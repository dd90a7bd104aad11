package same

import (
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
)

// What of the default may be a constant in the variant: what is made of numbers in the code, fixed
// parameters and counters. Where an instruction rounds in a way of its own, or is a product and its
// sum in one, the compiler's constant may have other bits than it.

// An outcome is what may become of a node of the default.
type outcome struct {
	constant bool // it may be one in the variant
	rough    bool // and then with other bits than the instruction's: it is approximate, or contracted
	flushes  bool // and then perhaps a subnormal, where the instruction gives 0
	single   bool // if it is one, then the same one wherever it is computed
	plus     bool // if it may be any constant, then never -0
	any      bool // it may be any constant; where not, it is one of
	values   [2]string
}

// outcomes finds them: from below, as loops begin with numbers. built: of what the kernel has as it
// is built, so that an approximate instruction is one that ptxas leaves (Answer.Approximate), and
// no constant.
func outcomes(g *graph, fixed fold.Fixed, built bool) []outcome {
	return g.outcomes(fixed, built, nil)
}

// outcomes without what some comparisons tell.
func (g *graph) outcomes(fixed fold.Fixed, built bool,
	ignored func(f *function, i int) bool) []outcome {
	all := make([]outcome, len(g.nodes))
	constraints, constrained := g.constraints(&all), map[int]bool{}
	if ignored != nil {
		for k, f := range g.funcs {
			constraints[k].Ignored = func(i int) bool { return ignored(f, i) }
		}
	}
	for again := true; again; {
		again = false
		all = append(all, make([]outcome, len(g.nodes)-len(all))...) // asked for one, it is made
		for i, n := range g.nodes {
			now := outcomeOf(g, n, all, fixed)
			if n.kind == load && len(g.handing[i]) > 0 {
				if of := either(g.handing[i], all); of.constant {
					now = outcome{constant: true, any: true, rough: of.rough, flushes: of.flushes}
				}
			}
			if built && n.kind == operation && approximate(n) {
				now = outcome{}
			}
			switch {
			case constrained[i] && !now.constant:
				// In a part of the kernel, and the number is what the kernel has there.
				now = outcome{constant: true, any: true}
			case constrained[i]:
				now.any, now.plus = true, false
			}
			if now != all[i] {
				all[i], again = now, true
			}
		}
		for k, t := range constraints {
			if t.Look() {
				again = true
				g.constrain(g.funcs[k], t, constrained)
			}
		}
		again = again || len(all) < len(g.nodes)
	}
	return all
}

// constraints begins to look at each function's comparisons: what one tells may be a constant.
func (g *graph) constraints(all *[]outcome) (out []*fold.Constraints) {
	for _, f := range g.funcs {
		out = append(out, fold.NewConstraints(f.Func, f.reach, func(i int, operand string) bool {
			for _, o := range g.origins(f, i, operand) {
				if o >= len(*all) || (*all)[o].constant {
					return false
				}
			}
			return true
		}))
	}
	return out
}

// constrain marks the nodes that comparisons may fix.
func (g *graph) constrain(f *function, t *fold.Constraints, constrained map[int]bool) {
	for i := range f.Stmts {
		if !t.Constrain(i) || len(f.ops[i]) == 0 {
			continue
		}
		for _, reg := range parts(f.ops[i][0]) {
			for _, n := range g.given(f, i, reg) {
				constrained[n] = true
			}
		}
	}
}

// either joins what is known of an operand's origins.
func either(origins []int, all []outcome) outcome {
	out := outcome{single: len(origins) == 1, plus: true}
	for _, o := range origins {
		f := all[o]
		out.constant = out.constant || f.constant
		out.rough = out.rough || f.rough
		out.flushes = out.flushes || f.flushes
		out.any = out.any || f.any
		out.plus = out.plus && (f.plus || !f.any)
		out.single = out.single && f.single
		for _, v := range f.values {
			out.add(v)
		}
	}
	return out
}

// add puts a value to those that it may have.
func (f *outcome) add(v string) {
	for k, have := range f.values {
		switch {
		case v == "" || have == v:
			return
		case have == "":
			f.values[k] = v
			return
		}
	}
	f.any = true
}

// may tells whether it may be one of some constants.
func (f outcome) may(list map[string]bool) bool {
	if f.any && f.plus && len(list) == len(added) && list[zeroBelow] {
		return f.constant && (added[f.values[0]] || added[f.values[1]])
	}
	return f.constant && (f.any || list[f.values[0]] || list[f.values[1]])
}

// mayBe tells whether it may be a constant, or that with the other sign.
func (f outcome) mayBe(name string) bool {
	if !f.constant || f.any {
		return f.constant
	}
	for _, v := range f.values {
		if v != "" && (v == name || v == otherSign(name) || len(v) != len(name)) {
			return true
		}
	}
	return false
}

// every tells whether all of an operand's origins may be constants.
func every(origins []int, all []outcome) bool {
	for _, o := range origins {
		if !all[o].constant {
			return false
		}
	}
	return true
}

func outcomeOf(g *graph, n *node, all []outcome, fixed fold.Fixed) outcome {
	switch n.kind {
	case constant:
		return outcome{constant: true, single: true, values: [2]string{n.name}}
	case parameter:
		k, _, _ := strings.Cut(n.name, "+")
		index, err := strconv.Atoi(k)
		known := err != nil || fixed.Params[index]
		return outcome{constant: known, single: true, any: known}
	case special:
		known := fixed.Dims[strings.TrimPrefix(n.name, "%")]
		return outcome{constant: known, single: true, any: known}
	case load:
		return outcome{constant: n.table, any: n.table}
	case called:
		return outcome{}
	case choice:
		out := either(slices.Concat(n.ops[0], n.ops[1]), all)
		out.single = false
		return out
	}
	switch n.base {
	case "atom", "red", "st", "tex", "tld4", "suld", "shfl", "vote", "match", "ldmatrix",
		"mma", "wmma", "wgmma", "redux", "activemask", "elect":
		return outcome{}
	}
	alone := len(fixed.Params) == 0 && len(fixed.Dims) == 0
	out := outcome{constant: len(n.ops) > 0, single: true}
	some := false
	for k, o := range n.ops {
		one := either(o, all)
		if alone && one.constant && !every(o, all) {
			one.constant = !g.alike(n, k)
		}
		out.constant = out.constant && one.constant
		out.rough = out.rough || one.rough
		out.flushes = out.flushes || one.flushes
		out.single = out.single && one.single
		if k > 0 && (n.base == "shl" || n.base == "shr") {
			continue // how far
		}
		for _, x := range o {
			some = some || all[x].constant && g.nodes[x].kind != constant && !g.nodes[x].nonzero
		}
	}
	if n.kind == integer {
		switch n.base {
		case "add", "sub", "cvt", "neg", "not", "xor", "ld":
		default:
			out.constant = out.constant || some // times 0
		}
	}
	out.any = out.constant
	if out.constant {
		out.computed(n, all)
		out.plus = n.kind == operation && n.base == "add" && len(n.ops) == 2 &&
			!(either(n.ops[0], all).may(added) && either(n.ops[1], all).may(added))
	}
	out.rough = out.constant && (out.rough || rough(n))
	out.flushes = out.constant && (out.flushes || ptx.HasModifier([]byte(n.op), "ftz"))
	return out
}

// tables finds the loads whose element may become known: those from variables of the module.
func (g *graph) tables() {
	for _, n := range g.nodes {
		if n.kind != load {
			continue
		}
		variables := map[string]bool{}
		name, _ := base(n.text[1])
		f := g.byName[n.fn.Name]
		if !f.reach.IsRegister(name) {
			variables[name] = true
		} else {
			g.variables(g.origins(f, n.at, name), variables, map[int]bool{})
		}
		n.table = len(variables) > 0
		n.nonzero = n.table
		for v := range variables {
			n.nonzero = n.nonzero && g.noZero(v)
		}
	}
}

// variables collects those that an address may be made of.
func (g *graph) variables(origins []int, out map[string]bool, seen map[int]bool) {
	for _, o := range origins {
		x := g.nodes[o]
		switch {
		case seen[o]:
		case x.kind == special && !strings.HasPrefix(x.name, "%"):
			out[x.name] = true
		case x.kind == integer:
			seen[o] = true
			for _, ops := range x.ops {
				g.variables(ops, out, seen)
			}
		}
	}
}

// noZero tells of a variable that holds numbers other than 0 alone.
func (g *graph) noZero(name string) bool {
	v := g.built.Module.Global(name)
	if v == nil || v.Init.End <= v.Init.Start {
		return false
	}
	text := string(g.built.Module.Bytes()[v.Init.Start:v.Init.End])
	for _, w := range strings.Split(strings.Trim(strings.TrimSpace(text), "{}"), ",") {
		if n, err := strconv.ParseInt(strings.TrimSpace(w), 0, 64); err != nil || n == 0 {
			return false
		}
	}
	return true
}

// rough tells of an operation that a compiler may compute with other bits than the GPU does: it
// rounds in a way of its own, or may be a product and its sum in one.
func rough(n *node) bool {
	return n.kind == operation && (n.base == "fma" || n.base == "min" || n.base == "max" ||
		approximate(n))
}

// approximate tells of an instruction that rounds in a way of its own.
func approximate(n *node) bool {
	switch n.base {
	case "ex2", "lg2", "sin", "cos", "tanh", "rsqrt":
		return true
	}
	op := []byte(n.op)
	return ptx.HasModifier(op, "approx") || ptx.HasModifier(op, "full")
}
