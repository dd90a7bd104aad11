package main

import (
	"fmt"

	"gnvcc/policy/judge"
	"gnvcc/sim/emulate"
)

// A verdict is what came of a recipe.
type verdict struct {
	what        string // same, OTHER, NaN, FAULT, refused, can't
	why         string
	approximate bool // the special function units were asked, whose results are not known
	launches    int
	steps       [2]int // instructions of warps in all launches, by both builds
}

// worse orders verdicts.
func (v verdict) worse(than verdict) bool {
	order := map[string]int{"": 0, "can't": 1, "same": 2, "NaN": 3, "FAULT": 4, "OTHER": 5}
	return order[v.what] > order[than.what]
}

// compare launches both builds, as often as the options say, until bytes differ.
func (p *pair) compare(o options) (out verdict) {
	for n := range o.rounds {
		away := p.inside && n%2 == 1
		t, err := p.trial(o, o.first+n, away)
		v := verdict{what: "can't"}
		if err != nil {
			v.why = err.Error()
		} else {
			v = t.run()
			if v.what != "same" {
				v.why += fmt.Sprintf(" (data of kind %d)", (o.first+n)%judge.Kinds)
			}
		}
		v.approximate = v.approximate || out.approximate
		v.launches = out.launches
		v.steps = [2]int{v.steps[0] + out.steps[0], v.steps[1] + out.steps[1]}
		if v.what != "can't" {
			v.launches++
		}
		if v.worse(out) {
			out = v
		}
		out.launches, out.approximate, out.steps = v.launches, v.approximate, v.steps
		if out.what == "OTHER" || out.what == "FAULT" {
			break
		}
	}
	return out
}

// run does both launches.
func (t *trial) run() verdict {
	a, b := t.memory.Clone(), t.memory.Clone()
	first, err := t.own.Run(a, t.launch)
	if err != nil {
		return verdict{what: "can't", why: err.Error()}
	}
	if t.instead.Limit = 20*first.Steps + 100_000; t.instead.Limit > 1<<26 {
		t.instead.Limit = 1 << 26
	}
	second, err := t.other.Run(b, t.instead)
	if err != nil {
		if emulate.Unknown(err) {
			return verdict{what: "can't", why: err.Error()}
		}
		return verdict{what: "FAULT", why: err.Error()}
	}
	v := t.difference(a, b)
	v.approximate = first.Approximate || second.Approximate
	v.steps = [2]int{first.Steps, second.Steps}
	return v
}

// difference finds the first bytes that are not the same.
func (t *trial) difference(a, b *emulate.Memory) verdict {
	switch d := judge.Compare(a, b, t.types, nil, judge.Within{}); {
	case d == nil:
		return verdict{what: "same"}
	case d.NaN:
		return verdict{what: "NaN", why: d.String() + ";"}
	default:
		return verdict{what: "OTHER", why: d.String() + ";"}
	}
}
