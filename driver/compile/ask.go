package compile

import (
	"context"
	"errors"
	"fmt"

	"gnvcc/cache"
	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/fold/same"
)

// What rewrite/fold/same says of a kernel and a variant. It is asked when a variant's sums are
// written down, when it is proved, and in builds; it takes seconds where they are large. So what it
// says is kept, where nothing is known of what ptxas contracted.

// keptAnswer is the memo of an answer. A statement is its place in statedIn's list.
type keptAnswer struct {
	Error       string    `json:",omitempty"`
	Sums        []keptSum `json:",omitempty"`
	Products    []keptSum `json:",omitempty"`
	Both        [2][]int  // of the kernel, of the variant
	Alone       []int     `json:",omitempty"`
	Early       []string  `json:",omitempty"`
	Approximate []int     `json:",omitempty"`
}

type keptSum struct {
	At           int
	May, Ordered []int
}

const memoAnswer cache.Memos[keptAnswer] = "answer"

// mostKept is how many statements an answer that is kept may name: some MB.
const mostKept = 1 << 18

// ask is same.Same.
func (b *Workbench) ask(ctx context.Context, own, variant same.Built,
	fixed fold.Fixed) (*same.Answer, error) {
	if own.Contracted != nil || variant.Contracted != nil {
		return same.Same(own, variant, fixed)
	}
	one, err := statedIn(own.Module, own.Entry)
	if err != nil {
		return nil, err
	}
	two, err := statedIn(variant.Module, variant.Entry)
	if err != nil {
		return nil, err
	}
	key := answerKey(own, variant, fixed)
	return once(ctx, b.flights, string(memoAnswer)+" "+key, func() (*same.Answer, bool, error) {
		kept, ok := memoAnswer.Get(b.Store, key)
		if kept.Error != "" {
			return nil, true, errors.New(kept.Error)
		}
		if !ok {
			return nil, false, nil
		}
		answer, ok := kept.answer(one, two)
		return answer, ok, nil
	}, func() (*same.Answer, error) {
		answer, err := same.Same(own, variant, fixed)
		if err != nil {
			memoAnswer.Put(b.Store, key, keptAnswer{Error: err.Error()})
			return nil, err
		}
		if kept, ok := keep(answer, one, two); ok {
			memoAnswer.Put(b.Store, key, kept)
		}
		return answer, nil
	})
}

func answerKey(own, variant same.Built, fixed fold.Fixed) string {
	return cache.HashOf("answer 1", string(own.Module.Bytes()), string(variant.Module.Bytes()),
		own.Entry, variant.Entry, fmt.Sprint(fixed, own.Unfolded), cache.OwnKey())
}

// keep puts places for an answer's statements; not ok where it is too long, or of others.
func keep(a *same.Answer, one, two []same.Statement) (out keptAnswer, ok bool) {
	place, count := map[same.Statement]int{}, 0
	var side [2]map[same.Statement]bool
	for n, list := range [][]same.Statement{one, two} {
		side[n] = map[same.Statement]bool{}
		for k, s := range list {
			place[s], side[n][s] = k, true
		}
	}
	ok = true
	places := func(list []same.Statement, of int) (at []int) {
		for _, s := range list {
			ok = ok && side[of][s]
			at = append(at, place[s])
		}
		count += len(list)
		return at
	}
	sums := func(list []same.Sum) (of []keptSum) {
		for _, s := range list {
			of = append(of, keptSum{places([]same.Statement{s.At}, 1)[0], places(s.May, 0),
				places(s.Ordered, 0)})
		}
		return of
	}
	out.Sums, out.Products = sums(a.Sums), sums(a.Products)
	for _, s := range a.Both {
		of := 0
		if side[1][s] {
			of = 1
		}
		out.Both[of] = append(out.Both[of], places([]same.Statement{s}, of)...)
	}
	out.Alone, out.Approximate = places(a.Alone, 0), places(a.Approximate, 1)
	out.Early = a.Early
	return out, ok && count <= mostKept
}

// answer is what was kept, for the statements of two modules; not ok where it is of others.
func (k keptAnswer) answer(one, two []same.Statement) (out *same.Answer, ok bool) {
	ok = true
	statements := func(places []int, list []same.Statement) (of []same.Statement) {
		for _, n := range places {
			if n < 0 || n >= len(list) {
				ok = false
				continue
			}
			of = append(of, list[n])
		}
		return of
	}
	out = &same.Answer{Early: k.Early, Alone: statements(k.Alone, one),
		Approximate: statements(k.Approximate, two),
		Both:        append(statements(k.Both[0], one), statements(k.Both[1], two)...)}
	sums := func(list []keptSum) (of []same.Sum) {
		for _, s := range list {
			at := statements([]int{s.At}, two)
			if !ok {
				break
			}
			of = append(of, same.Sum{At: at[0], May: statements(s.May, one),
				Ordered: statements(s.Ordered, one)})
		}
		return of
	}
	out.Sums, out.Products = sums(k.Sums), sums(k.Products)
	return out, ok
}
