package compile

import (
	"fmt"
	"strings"
	"testing"

	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// TestAgree: a variant is proved only where ptxas did with each of its sums what it did with all of
// the kernel's that it may be.
func TestAgree(t *testing.T) {
	m, err := ptx.Parse([]byte(fmt.Sprintf(doneText, "")))
	if err != nil {
		t.Fatal(err)
	}
	list, err := statedIn(m, "k")
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]same.Statement{} // by the register that it writes
	for _, s := range list {
		if s.Func.Entry {
			reg := string(s.Func.Bytes(s.Func.Operands(s.Index, nil)[0]))
			at[reg] = s
		}
	}
	reach, err := dataflow.ReachingOf(at["%f5"].Func)
	if err != nil {
		t.Fatal(err)
	}
	sum, other, product, quick := at["%f5"], at["%f6"], at["%f4"], at["%f10"]
	one := []same.Sum{{At: sum, May: []same.Statement{sum}}}
	two := []same.Sum{{At: sum, May: []same.Statement{sum, other}}}
	type did = map[same.Statement]outcome
	for name, c := range map[string]struct {
		answer        same.Answer
		before, after did
		want          string
	}{
		"nothing": {same.Answer{}, nil, nil, ""},
		"both contracted": {same.Answer{Sums: one},
			did{sum: contracted}, did{sum: contracted}, ""},
		"both rounded": {same.Answer{Sums: one}, did{sum: alone}, did{sum: alone}, ""},
		"variant rounds": {same.Answer{Sums: one},
			did{sum: contracted}, did{sum: alone}, "rounded"},
		"kernel rounds": {same.Answer{Sums: one},
			did{sum: alone}, did{sum: contracted}, "rounded"},
		"one of two": {same.Answer{Sums: two},
			did{sum: alone, other: contracted}, did{sum: alone}, "contracted"},
		"gone": {same.Answer{Sums: one},
			did{sum: alone}, did{sum: gone}, "nothing"},
		"not known": {same.Answer{Sums: one},
			did{sum: alone}, did{sum: unclear}, "something"},
		"gone before": {same.Answer{Sums: one},
			did{sum: gone}, did{sum: alone}, "nothing"},
		"of nothing": {same.Answer{Sums: []same.Sum{{At: sum}}},
			nil, did{sum: alone}, "not known"},
		"with which": {same.Answer{Sums: one, Both: []same.Statement{sum}},
			did{sum: contracted}, did{sum: contracted}, "two products"},
		"with none": {same.Answer{Sums: one, Both: []same.Statement{sum}},
			did{sum: alone}, did{sum: alone}, ""},
		"constant": {same.Answer{Alone: []same.Statement{product}},
			did{product: alone}, nil, ""},
		"constant now": {same.Answer{Alone: []same.Statement{product}},
			did{product: gone}, nil, "constant"},
		"constant of two": {same.Answer{Alone: []same.Statement{product}},
			did{product: alone, sum: contracted}, nil, "constant"},
		"looked up": {same.Answer{Approximate: []same.Statement{quick}},
			nil, did{quick: looked}, ""},
		"computed": {same.Answer{Approximate: []same.Statement{quick}},
			nil, did{quick: gone}, "nothing"},
		"nobody compared":   {same.Answer{}, nil, did{sum: contracted}, "no operand"},
		"nobody's product":  {same.Answer{}, did{other: contracted}, nil, "no operand"},
		"not the variant's": {same.Answer{}, did{sum: contracted, product: gone}, nil, ""},
	} {
		reaches := map[*ptx.Func]*dataflow.Reaching{sum.Func: reach}
		err := agree(t.Context(), &c.answer, newOutcomes(c.before, reaches),
			newOutcomes(c.after, reaches))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", name, err, c.want)
		}
	}
}
