package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"gnvcc/sim/emulate"
)

// A verdict is what came of a recipe.
type verdict struct {
	what        string // same, OTHER, NaN, FAULT, refused, can't
	why         string
	approximate bool // the special function units were asked, whose results are not known
	launches    int
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
				v.why += fmt.Sprintf(" (data of kind %d)", (o.first+n)%kinds)
			}
		}
		v.approximate = v.approximate || out.approximate
		v.launches = out.launches
		if v.what != "can't" {
			v.launches++
		}
		if v.worse(out) {
			out = v
		}
		out.launches, out.approximate = v.launches, v.approximate
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
	return v
}

// difference finds the first bytes that are not the same.
func (t *trial) difference(a, b *emulate.Memory) verdict {
	v := verdict{what: "same"}
	list := b.Buffers()
	for n, was := range a.Buffers() {
		is := list[n]
		size := 4
		if strings.Contains(t.types[was.Name], "double") {
			size = 8
		}
		for at := 0; at+size <= len(was.Bytes); at += size {
			x, y := was.Bytes[at:at+size], is.Bytes[at:at+size]
			if string(x) == string(y) {
				continue
			}
			one := verdict{what: "OTHER", why: fmt.Sprintf("%s[%d]: %s, now %s;", was.Name, at/size,
				show(x, t.types[was.Name]), show(y, t.types[was.Name]))}
			if nan(x, t.types[was.Name]) && nan(y, t.types[was.Name]) {
				one.what = "NaN"
			}
			if one.worse(v) {
				v = one
			}
			if v.what == "OTHER" {
				return v
			}
		}
	}
	return v
}

// float is what bytes are as a number, if they are one.
func float(b []byte, is string) (float64, bool) {
	switch {
	case len(b) == 8 && strings.Contains(is, "double"):
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), true
	case len(b) == 4 && (strings.Contains(is, "float") || strings.Contains(is, "T*")):
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), true
	}
	return 0, false
}

func nan(b []byte, is string) bool {
	f, ok := float(b, is)
	return ok && f != f
}

func show(b []byte, is string) string {
	if f, ok := float(b, is); ok {
		return fmt.Sprintf("%x (%v)", reversed(b), f)
	}
	return fmt.Sprintf("%x", reversed(b))
}

// reversed are bytes as a number is written.
func reversed(b []byte) []byte {
	out := make([]byte, len(b))
	for n := range b {
		out[len(b)-1-n] = b[n]
	}
	return out
}
