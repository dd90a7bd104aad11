package contract

import (
	"fmt"
	"strings"

	"gnvcc/rewrite/ptx"
)

// ptxas computes approximate instructions of constants, with other bits than the GPU's, also for
// one round of a loop that it takes apart.

// approximate tells of an instruction whose result is the GPU's own.
func approximate(op []byte, base string) bool {
	switch base {
	case "ex2", "lg2", "sin", "cos", "tanh", "rsqrt":
		return floating(op)
	}
	return floating(op) && (ptx.HasModifier(op, "approx") || ptx.HasModifier(op, "full"))
}

// Begins is an error where an operand of a variant's approximate instruction may hold a number that
// none of the kernel's does.
func Begins(k Kernel, variant *ptx.Module) error {
	in, err := k.Module.Reach(k.Entry)
	if err != nil {
		return err
	}
	was := map[string]bool{}
	for n, f := range in.Funcs {
		if err := constants(f, n == 0, func(what string, alone bool) error {
			was[what] = was[what] || alone
			return nil
		}); err != nil {
			return err
		}
	}
	reach, err := variant.Reach(k.Entry)
	if err != nil {
		return err
	}
	for n, f := range reach.Funcs {
		if err := constants(f, n == 0, func(what string, alone bool) error {
			if !alone || !was[what] {
				return fmt.Errorf("%s may be computed by ptxas", what)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// constants goes through the numbers that a function's approximate instructions may be given.
func constants(f *ptx.Func, entry bool, yield func(what string, alone bool) error) error {
	if !f.Body || f.Entry != entry {
		return nil
	}
	b, err := read(f, nil)
	if err != nil {
		return err
	}
	for i, st := range f.Stmts {
		if st.Kind != ptx.Inst || !approximate(f.Opcode(i), string(f.Base(i))) {
			continue
		}
		for n, o := range b.ops[i][1:] {
			list := b.sources(i, o)
			for _, s := range list {
				if s.def >= 0 || strings.HasPrefix(s.text, "%") {
					continue
				}
				number := strings.ToLower(s.text)
				if err := yield(fmt.Sprintf("operand %d of %s, %s,", n+1, f.Opcode(i), number), len(list) == 1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
