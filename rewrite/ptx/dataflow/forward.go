package dataflow

import "gnvcc/rewrite/ptx"

// Forward works out what is known of registers from what they are computed of, whatever way the
// control flow takes: of a register that is written at several places, what is joined of them.
// value says what a statement makes of what is known so far, and join must only ever lose, so that
// it ends. Registers of one name in several scopes are taken together.
func Forward[T comparable](f *ptx.Func, known map[string]T, join func(a, b T) T,
	value func(i int) T) {
	for again := true; again; {
		again = false
		for i := range f.Stmts {
			var v T
			asked := false
			f.Effects(i, func(name ptx.Span, _, write bool) {
				if !write {
					return
				}
				if !asked {
					v, asked = value(i), true
				}
				reg := string(f.Bytes(name))
				if now := join(known[reg], v); now != known[reg] {
					known[reg], again = now, true
				}
			})
		}
	}
}
