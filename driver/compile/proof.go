package compile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/job"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
	"gnvcc/rewrite/source"
)

// Where rewrite/fold can't vouch for a source variant, or vouches for a part (left.go), it is
// proved by what the compilers did: cicc compiles the kernel and the variant once more, with line
// information (lined.go), and rewrite/fold/same compares the two; ptxas does so, too, with what it
// is to be given in the end (done.go). That costs a run of cicc and two of ptxas, and as much once
// for the kernel. So the tuner measures first, and proves what it would adopt; a build proves
// before it takes a variant, and both keep the verdict.

// A doubted variant stands in a plan and is not proved.
type doubted struct {
	variantOf
	compiledVariant
	kernel, name string // the name is that of the entry in the plan's module
}

// keptVerdict is the memo of a proof.
type keptVerdict struct{ Error string }

const (
	memoSame       cache.Memos[keptVerdict]      = "same"
	memoArithmetic cache.Memos[keptOf[struct{}]] = "arithmetic"
)

// doubt says what of a variant is to be proved, "" where there is nothing. static is sameBits'
// answer.
func doubt(static error, module, variant *ptx.Module, v variantOf) string {
	if static != nil {
		return static.Error()
	}
	for _, m := range []*ptx.Module{module, variant} {
		if !v.approximate() && left(m, v.entry) {
			return leftToCompilers
		}
	}
	return ""
}

// proved gives the kernels of a plan that have variants which nobody vouches for, with the reasons.
func (b *Workbench) proved(ctx context.Context, j *job.Job, t *record.Translation,
	module *ptx.Module, p *plan, whole *ptx.Module) (map[string]error, error) {
	bad := map[string]error{}
	for _, d := range p.doubted {
		if bad[d.kernel] != nil {
			continue
		}
		err := b.proof(ctx, j, t, module, p, whole, d)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			bad[d.kernel] = fmt.Errorf("%s; and that the compilers did the same is not shown: %w", d.doubt,
				err)
		}
	}
	return bad, nil
}

// proof is an error where a variant is not proved to have the kernel's bits.
func (b *Workbench) proof(ctx context.Context, j *job.Job, t *record.Translation,
	module *ptx.Module, p *plan, whole *ptx.Module, d doubted) error {
	rewritten := d.doubt == asRewritten
	if t == nil && !rewritten {
		return errNoSource
	}
	code, err := whole.Identity(d.name)
	if err != nil {
		return err
	}
	id, err := cache.FileKey(j.Tool)
	if err != nil {
		return fmt.Errorf("look at ptxas: %w", err)
	}
	// What was proved holds for the two codes, whatever text they come from; that it was not
	// possible, for the text.
	pair := cache.HashOf("same 1", normalOf(module, d.entry), d.normal, code.String(), d.String(), id,
		strings.Join(j.Call.Template(), "\x00"), cache.OwnKey())
	text := cache.HashOf("same 1", pair)
	if !rewritten {
		compiler, err := cache.FileKey(t.Cicc)
		if err != nil {
			return fmt.Errorf("look at cicc: %w", err)
		}
		text = cache.HashOf("same 1", pair, t.Input, compiler, strings.Join(t.Args, "\x00"))
	}
	if _, ok := memoSame.Get(b.Store, pair); ok {
		return nil
	}
	if kept, ok := memoSame.Get(b.Store, text); ok {
		return errors.New(kept.Error)
	}
	switch err := b.compare(ctx, j, t, module, p, whole, d); {
	case err == nil:
		memoSame.Put(b.Store, pair, keptVerdict{})
		return nil
	case ctx.Err() != nil || transient(err):
		return err
	default:
		memoSame.Put(b.Store, text, keptVerdict{err.Error()})
		return err
	}
}

// compare makes the proof.
func (b *Workbench) compare(ctx context.Context, j *job.Job, t *record.Translation,
	module *ptx.Module, p *plan, whole *ptx.Module, d doubted) error {
	if d.doubt == asRewritten {
		return b.likeOwn(ctx, j, module, d.entry, whole, d.name, nil)
	}
	own, variant, fixed, err := b.sides(ctx, t, module, d)
	if err != nil {
		return err
	}
	var before, after *outcomes
	look := func() error {
		if before != nil && after != nil {
			return nil
		}
		return b.beside(func() (err error) {
			before, err = b.done(ctx, j, own, d.entry, module, d.entry, nil)
			return err
		}, func() (err error) {
			after, err = b.done(ctx, j, variant, d.entry, whole, d.name, nil)
			return err
		})
	}
	try := func(one, two map[same.Statement]same.Statement) error {
		answer, err := b.ask(ctx, same.Built{Module: own, Entry: d.entry, Contracted: one,
			Unfolded: d.doubt == leftToCompilers},
			same.Built{Module: variant, Entry: d.entry, Contracted: two}, fixed)
		if err != nil {
			return err
		}
		if one == nil && len(answer.Sums)+len(answer.Products)+len(answer.Alone)+
			len(answer.Approximate) == 0 {
			return nil
		}
		if err := look(); err != nil {
			return err
		}
		before.known, after.known = one, two
		if err := agree(ctx, answer, before, after); err != nil || len(answer.Early) == 0 {
			return err
		}
		if err := b.untouched(ctx, j, module, nil, answer.Early); err != nil {
			return err
		}
		return b.untouched(ctx, j, whole, nil, answer.Early)
	}
	first := try(nil, nil)
	if first == nil || ctx.Err() != nil || transient(first) {
		return first
	}
	// The one compiler may contract in the kernel what the other does in the variant.
	if err := look(); err != nil {
		return err
	}
	one, two := before.contracted(), after.contracted()
	if len(one)+len(two) == 0 {
		return first
	}
	return try(one, two)
}

// sides gives kernel and variant with line information, and what the variant knows.
func (b *Workbench) sides(ctx context.Context, t *record.Translation, module *ptx.Module,
	d doubted) (own, variant *ptx.Module, fixed fold.Fixed, err error) {
	call, err := toolcmd.ReadCicc(t.Args)
	if err != nil {
		return nil, nil, fixed, err
	}
	unit, err := b.unit(t.Input)
	if err != nil {
		return nil, nil, fixed, err
	}
	f := module.Entry(d.entry)
	if f == nil {
		return nil, nil, fixed, fmt.Errorf("no kernel %s in the PTX", d.entry)
	}
	signature := source.Signature(f)
	if fixed, err = d.fixed(unit, signature); err != nil {
		return nil, nil, fixed, err
	}
	own, variant, err = b.lined(ctx, lines{t, call, unit, module, signature}, d)
	return own, variant, fixed, err
}

// outcomes are what ptxas did, by statement of the module that was compared.
type outcomes struct {
	did   map[same.Statement]outcome
	reach map[*ptx.Func]*dataflow.Reaching
	// of contracted sums: the product that was rounded by itself and is added, where that was seen
	adding map[same.Statement]same.Statement

	known map[same.Statement]same.Statement // sums that are compared with their products

	// what which.go has found out so far
	with     map[same.Statement]int // contractedWith
	computed map[*ptx.Func][]int    // products
	equal    map[*ptx.Func]pairs    // mayEqual
}

func newOutcomes(did map[same.Statement]outcome, reach map[*ptx.Func]*dataflow.Reaching) *outcomes {
	return &outcomes{did: did, reach: reach, adding: map[same.Statement]same.Statement{},
		with: map[same.Statement]int{}, computed: map[*ptx.Func][]int{},
		equal: map[*ptx.Func]pairs{}}
}

// follow sees to it that a function's data flow is known.
func (d *outcomes) follow(f *ptx.Func) (err error) {
	if d.reach[f] == nil {
		d.reach[f], err = dataflow.ReachingOf(f)
	}
	return err
}

// done looks what ptxas does with an entry. The statements are those of the same code with line
// information.
func (b *Workbench) done(ctx context.Context, j *job.Job, lined *ptx.Module, entry string,
	m *ptx.Module, name string, flags []string) (*outcomes, error) {
	of, err := statedIn(lined, entry)
	if err != nil {
		return nil, err
	}
	list, err := statedIn(m, name)
	if err != nil {
		return nil, err
	}
	if len(list) != len(of) {
		return nil, fmt.Errorf("%s has %d floating-point statements, and %d before other rewrites", name,
			len(list), len(of))
	}
	for n := range list {
		was, is := of[n].Func.Opcode(of[n].Index), list[n].Func.Opcode(list[n].Index)
		if string(was) != string(is) && !productNamed(was, is) && writtenAs(was, is) == unclear {
			return nil, fmt.Errorf("a statement of %s is %s, and %s before other rewrites", name, is, was)
		}
	}
	outcomes, addends, err := b.outcomes(ctx, j, m, name, flags)
	if err != nil {
		return nil, err
	}
	out := newOutcomes(map[same.Statement]outcome{}, map[*ptx.Func]*dataflow.Reaching{})
	text := newOutcomes(nil, map[*ptx.Func]*dataflow.Reaching{})
	for n, s := range of {
		is, added := outcomes[n], addends[n]
		if w := writtenAs(s.Func.Opcode(s.Index), list[n].Func.Opcode(list[n].Index)); w != unclear {
			if is = w; is == contracted {
				added = text.writtenAdding(list, n)
			}
		}
		if added >= 0 {
			out.adding[s] = of[added]
		}
		out.did[s] = is
		if err := out.follow(s.Func); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// writtenAs says what PTX has ptxas do with a sum that the one opcode left to it, and the other
// does not (rewrite/contract).
func writtenAs(was, is []byte) outcome {
	base, of, _ := strings.Cut(string(was), ".")
	if base != "add" && base != "sub" || ptx.NamesRounding(was) {
		return unclear
	}
	switch string(is) {
	case base + ".rn." + of:
		return alone
	case "fma.rn." + of:
		return contracted
	}
	return unclear
}

// writtenAdding is the place of the product that the multiply-add at a place in a list adds: -1
// where it is none, or one of several.
func (d *outcomes) writtenAdding(list []same.Statement, n int) int {
	f, at := list[n].Func, list[n].Index
	if d.follow(f) != nil {
		return -1
	}
	reach := d.reach[f]
	operand := string(f.Bytes(f.Operands(at, nil)[3]))
	for {
		defs := reach.Of(at, operand)
		if len(defs) != 1 || f.Stmts[defs[0]].Guarded {
			return -1
		}
		at = defs[0]
		if string(f.Base(at)) != "neg" {
			return slices.Index(list, same.Statement{Func: f, Index: at})
		}
		operand = string(f.Bytes(f.Operands(at, nil)[1]))
	}
}

// agree is an error where ptxas did other things with the variant's statements than with the
// kernel's.
func agree(ctx context.Context, answer *same.Answer, before, after *outcomes) error {
	both := twoOf(answer)
	for _, s := range answer.Alone {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if before.did[s] != alone {
			return fmt.Errorf("%s is constant in the variant, and in the kernel ptxas makes of it: %s",
				text(s), before.did[s])
		}
		for sum, did := range before.did {
			if did == contracted && before.adds(sum, s) {
				return fmt.Errorf("%s is constant in the variant, and ptxas contracts it in the kernel (%s)",
					text(s), text(sum))
			}
		}
	}
	for _, s := range answer.Approximate {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if after.did[s] != looked && !after.shares(s) && !before.computes(after, s) {
			return fmt.Errorf("ptxas makes of %s in the variant: %s", text(s), after.did[s])
		}
	}
	if err := unlisted(answer, before, after); err != nil {
		return err
	}
	if err := scaledAlike(answer, before, after); err != nil {
		return err
	}
	for _, s := range answer.Sums {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		did := after.did[s.At]
		if did != alone && did != contracted {
			return fmt.Errorf("ptxas makes of %s in the variant: %s", text(s.At), did)
		}
		want, with, err := before.asOriginal(s, both)
		switch {
		case err != nil:
			return err
		case want != did:
			return fmt.Errorf("%s: in the variant %s, in the kernel (%s) %s", text(s.At), did,
				text(s.May[0]), want)
		case with >= 0 && after.contractedWith(s.At) != with:
			return errTwo(s)
		}
	}
	return nil
}

// asOriginal says what is done in the kernel with all those sums that one of a variant may be a
// copy of; and of two products, with which operand's it is contracted there: else with is -1.
func (d *outcomes) asOriginal(s same.Sum, both map[same.Statement]bool) (is outcome, with int,
	err error) {
	with = -1
	for n, m := range s.May {
		did := d.did[m]
		if n > 0 && did != is {
			return is, with, fmt.Errorf("%s: in the kernel %s (%s) or %s (%s)", text(s.At), is,
				text(s.May[0]), did, text(m))
		}
		if is = did; is != contracted || !both[s.At] && !both[m] {
			continue
		}
		now := d.contractedWith(m)
		if now < 0 || !slices.Contains(s.Ordered, m) || with >= 0 && now != with {
			return is, with, errTwo(s)
		}
		with = now
	}
	if len(s.May) == 0 {
		err = fmt.Errorf("%s is not known in the kernel", text(s.At))
	}
	return is, with, err
}

// twoOf are the sums of which both operands may be products.
func twoOf(answer *same.Answer) map[same.Statement]bool {
	out := map[same.Statement]bool{}
	for _, s := range answer.Both {
		out[s] = true
	}
	return out
}

func errTwo(s same.Sum) error {
	return fmt.Errorf("%s is contracted with one of two products", text(s.At))
}

// unlisted is an error where ptxas contracts a sum that was not compared, as no operand of it was
// taken for a product.
func unlisted(answer *same.Answer, before, after *outcomes) error {
	listed := map[same.Statement]bool{}
	for _, s := range answer.Sums {
		listed[s.At] = true
		for _, d := range s.May {
			listed[d] = true
		}
	}
	if err := after.unknown(func(s same.Statement) bool { return listed[s] }); err != nil {
		return err
	}
	// Others may be of code that the variant has not.
	return before.unknown(func(s same.Statement) bool {
		return listed[s] || len(before.factored(s)) > 0
	})
}

// unknown is an error where ptxas contracted a sum that is none of those known to have a product.
func (d *outcomes) unknown(known func(same.Statement) bool) error {
	for s, did := range d.did {
		if _, compared := d.known[s]; did == contracted && !compared && !known(s) {
			return fmt.Errorf("ptxas contracts %s, of which no operand is known to be a product", text(s))
		}
	}
	return nil
}

// adds tells whether a sum may add what a statement writes: an instruction with several uses may be
// contracted with one of them.
func (d *outcomes) adds(sum, of same.Statement) bool {
	f := sum.Func
	if of.Func != f {
		return false
	}
	for _, o := range f.Operands(sum.Index, nil)[1:] {
		if holds(f, d.reach[f], sum.Index, string(f.Bytes(o)), map[int]bool{}, func(i int) bool {
			return i == of.Index
		}) {
			return true
		}
	}
	return false
}

// text is a statement for people.
func text(s same.Statement) string {
	st := s.Func.Stmts[s.Index]
	return strings.TrimSuffix(strings.Join(strings.Fields(string(
		s.Func.Bytes(ptx.Span{Start: st.Start, End: st.End}))), " "), ";")
}
