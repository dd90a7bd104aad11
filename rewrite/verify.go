package rewrite

import (
	"fmt"
	"strconv"

	"gnvcc/rewrite/ptx"
)

// The verifier: what must hold of a kernel after the passes, whatever they did. ptxas checks types and forms; this
// checks what ptxas takes silently (a register that is read before it is written), and what it would report by a line
// of a file that the user never saw.
//
//   - braces balance and statements end (the parser saw to it at Commit)
//   - every label that a branch names is in sight, once
//   - no register is declared twice in one scope
//   - every register that is named was declared, as far as it was before the passes
//   - a register that the passes brought in is written on every way to each place where it is read; one that was there
//     and was written somewhere still is
func verify(before, after *ptx.Func) error {
	blocks, err := after.Blocks()
	if err != nil {
		return err
	}
	old, err := registers(before)
	if err != nil {
		return err
	}
	now, err := registers(after)
	if err != nil {
		return err
	}
	if len(now.unknown) > 0 {
		for name := range now.unknown {
			if !old.unknown[name] {
				return fmt.Errorf("register %s is not declared", name)
			}
		}
	}
	for name, r := range now.used {
		o := old.used[name]
		if r.read && !r.written && o != nil && o.written {
			return fmt.Errorf("register %s is read but no longer written", name)
		}
	}
	fresh := make(map[string]int)
	for name := range now.used {
		if old.used[name] == nil {
			fresh[name] = len(fresh)
		}
	}
	return defined(after, blocks, fresh)
}

// usage is what is known of a function's registers by name. A name that is declared in several scopes counts as one:
// enough for the questions above.
type usage struct {
	used    map[string]*touched
	unknown map[string]bool // named, not declared, no special register
}

type touched struct{ read, written bool }

func registers(f *ptx.Func) (*usage, error) {
	u := &usage{used: make(map[string]*touched), unknown: make(map[string]bool)}
	type scope struct {
		names  map[string]bool
		ranges map[string]int // prefix -> count
	}
	stack := []scope{{}}
	declare := func(v ptx.Variable) error {
		top := &stack[len(stack)-1]
		if top.names == nil {
			top.names, top.ranges = make(map[string]bool), make(map[string]int)
		}
		if v.Count > 0 {
			if top.ranges[v.Name] > 0 {
				return fmt.Errorf("registers %s<...> are declared twice", v.Name)
			}
			top.ranges[v.Name] = v.Count
			return nil
		}
		if top.names[v.Name] {
			return fmt.Errorf("register %s is declared twice", v.Name)
		}
		top.names[v.Name] = true
		return nil
	}
	declared := func(name string) bool {
		prefix, n := split(name)
		for i := len(stack) - 1; i >= 0; i-- {
			if stack[i].names[name] || n >= 0 && n < stack[i].ranges[prefix] {
				return true
			}
		}
		return false
	}
	for i, s := range f.Stmts {
		switch s.Kind {
		case ptx.Open:
			stack = append(stack, scope{})
		case ptx.Close:
			stack = stack[:len(stack)-1]
		case ptx.Decl:
			if string(f.Opcode(i)) != ".reg" {
				continue
			}
			vars, err := f.Declared(i)
			if err != nil {
				return nil, err
			}
			for _, v := range vars {
				if err := declare(v); err != nil {
					return nil, err
				}
			}
		case ptx.Inst:
			f.Effects(i, func(reg ptx.Span, read, write bool) {
				name := string(f.Bytes(reg))
				a := u.used[name]
				if a == nil {
					if !declared(name) {
						if name[0] == '%' && !special(name) {
							u.unknown[name] = true
						}
						return
					}
					a = new(touched)
					u.used[name] = a
				}
				a.read = a.read || read
				a.written = a.written || write
			})
		}
	}
	return u, nil
}

// split cuts the number off a register's name: %r12 is %r, 12. n is -1 where there is none.
func split(name string) (prefix string, n int) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	n, err := strconv.Atoi(name[i:])
	if err != nil || i+1 < len(name) && name[i] == '0' {
		return name, -1
	}
	return name[:i], n
}

// special tells PTX's own registers by their form; the exact list grows with every ISA.
func special(name string) bool {
	for i := 1; i < len(name); i++ {
		if name[i] == '.' {
			return true // %tid.x
		}
	}
	return len(name) > 4 // %laneid, %clock64; undeclared short names are errors
}

// defined checks that each register in fresh (name -> index) is written on every way to each read: a forward data flow
// over bit sets, where a guarded write does not count.
func defined(f *ptx.Func, blocks []ptx.Block, fresh map[string]int) error {
	if len(fresh) == 0 {
		return nil
	}
	if len(fresh) > 64 {
		return fmt.Errorf("%d new registers are more than the verifier follows", len(fresh))
	}
	full := ^uint64(0)
	in := make([]uint64, len(blocks))
	for i := range in {
		in[i] = full
	}
	in[0] = 0
	walk := func(b ptx.Block, set uint64, check bool) (uint64, error) {
		var err error
		for i := b.First; i < b.Last; i++ {
			var writes uint64
			f.Effects(i, func(reg ptx.Span, read, write bool) {
				n, ok := fresh[string(f.Bytes(reg))]
				if !ok {
					return
				}
				if read && check && set&(1<<n) == 0 && err == nil {
					err = fmt.Errorf("register %s may be read before it is written: %s", f.Bytes(reg), f.Text()[f.Stmts[i].Start:f.Stmts[i].End])
				}
				if write && !f.Stmts[i].Guarded {
					writes |= 1 << n
				}
			})
			set |= writes
		}
		return set, err
	}
	for changed := true; changed; {
		changed = false
		for i, b := range blocks {
			out, _ := walk(b, in[i], false)
			for _, s := range b.Succs {
				if in[s]&out != in[s] {
					in[s] &= out
					changed = true
				}
			}
		}
	}
	for i, b := range blocks {
		if _, err := walk(b, in[i], true); err != nil {
			return err
		}
	}
	return nil
}
