package compile

import (
	"context"
	"errors"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/source"
)

// A kernel and its variants with line information, for proofs. What is proved is proved of code,
// whatever text it comes from: so both are compiled from the kernel's slice (rewrite/source), in
// which what stays has its line and column, where that gives exactly the code in question, of the
// kernel and of the variant; else from the whole text. A draft's own run of cicc is such a one.

const memoLines cache.Memos[keptVariant] = "lines"

// lines are what a kernel's code with line information is made from.
type lines struct {
	t         *record.Translation
	call      *toolcmd.Cicc
	unit      *source.Unit
	module    *ptx.Module // of the untouched text, without lines
	signature []string
}

var (
	errOwnLines = errors.New("with line information cicc gives other code for the kernel")
	errLines    = errors.New("with line information cicc gives other code for the variant")
)

// lined gives what cicc makes of the kernel and of a variant with line information. It must be what
// it makes without.
func (b *Workbench) lined(ctx context.Context, l lines, d doubted) (own, variant *ptx.Module,
	err error) {
	for _, sliced := range []bool{true, false} {
		if own, err = b.linedOwn(ctx, l, d.entry, sliced); err == nil {
			variant, err = b.linedVariant(ctx, l, d, sliced)
		}
		if err == nil || ctx.Err() != nil || transient(err) {
			break
		}
	}
	return own, variant, err
}

// linedOwn is what cicc makes of the untouched text, or of the kernel's slice of it.
func (b *Workbench) linedOwn(ctx context.Context, l lines, entry string,
	sliced bool) (*ptx.Module, error) {
	var of []string // the whole text's is that of all kernels
	if sliced {
		of = []string{entry, cache.OwnKey()}
	}
	own, err := b.linesOf(ctx, l, of, entry, sliced, func() ([]byte, error) {
		return b.Store.Object(l.t.Input)
	})
	if err != nil {
		return nil, err
	}
	if a := normalOf(own, entry); a == "" || a != normalOf(l.module, entry) {
		return nil, errOwnLines
	}
	return own, nil
}

// linedVariant is what it makes of a variant's text, or of its slice.
func (b *Workbench) linedVariant(ctx context.Context, l lines, d doubted,
	sliced bool) (*ptx.Module, error) {
	variant, err := b.compiledLines(ctx, l, d.variantOf, sliced, func() ([]byte, error) {
		return l.unit.Rewrite(d.entry, d.terms, source.Options{Signature: l.signature, Alone: d.alone,
			NeverHolds: d.never})
	})
	if err != nil {
		return nil, err
	}
	if variant, err = b.oneSet(l.unit, l.module, variant, d.variantOf); err != nil {
		return nil, err
	}
	if a := normalOf(variant, d.entry); a == "" || a != d.normal {
		return nil, errLines
	}
	return variant, nil
}

// compiledLines is what cicc makes of a variant's text, or of its slice, with line information.
func (b *Workbench) compiledLines(ctx context.Context, l lines, v variantOf, sliced bool,
	text func() ([]byte, error)) (*ptx.Module, error) {
	of := []string{v.entry, strings.Join(l.signature, ","), v.String(), cache.OwnKey()}
	return b.linesOf(ctx, l, of, v.entry, sliced, text)
}

// linesOf is what cicc makes of a text, or of an entry's slice of it, with line information. By of
// it is distinguished from other texts of the same translation.
func (b *Workbench) linesOf(ctx context.Context, l lines, of []string, entry string, sliced bool,
	text func() ([]byte, error)) (*ptx.Module, error) {
	if sliced {
		of = append(of, "slice")
	}
	return b.compiled(ctx, l.t, withLineInfo(l.call), memoLines, of, func() ([]byte, error) {
		text, err := text()
		if err == nil && sliced {
			text, err = source.Slice(text, entry)
		}
		return text, err
	})
}

// withoutLines is what a call of cicc gives without line information: the same text but for the
// places.
func withoutLines(call *toolcmd.Cicc, m *ptx.Module) (*ptx.Module, error) {
	if withLineInfo(call) == call {
		return m, nil
	}
	out := m.Clone()
	for _, f := range out.Funcs {
		for i, st := range f.Stmts {
			if st.Kind == ptx.Line {
				f.Delete(i)
			}
		}
		if err := f.Commit(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func withLineInfo(call *toolcmd.Cicc) *toolcmd.Cicc {
	if call.Has("-generate-line-info", "--generate-line-info") {
		return call
	}
	return call.And("-generate-line-info")
}

// Prepare makes what the proofs of all variants of a kernel need of the kernel itself: what cicc
// makes of it with line information, and what ptxas does with it. It is kept.
func (c *Compiler) Prepare(ctx context.Context, s *Source) error {
	t := s.translation
	if t == nil {
		return nil
	}
	list, err := statedIn(s.Module, s.Kernel)
	if err != nil || len(list) == 0 {
		return err
	}
	ctx, b, done, err := c.workbench(ctx, c.Limit, forOne)
	if err != nil {
		return err
	}
	defer done()
	call, err := toolcmd.ReadCicc(t.Args)
	if err != nil {
		return err
	}
	return b.beside(func() error {
		of := lines{t: t, call: call, module: s.Module}
		_, err := b.linedOwn(ctx, of, s.Kernel, true)
		if err != nil && ctx.Err() == nil && !transient(err) {
			_, err = b.linedOwn(ctx, of, s.Kernel, false)
		}
		return err
	}, func() error {
		_, _, err := b.outcomes(ctx, s.job, s.Module, s.Kernel, nil)
		return err
	})
}
