package judge

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"gnvcc/sim/emulate"
)

// What differs in memory that two launches left, as the type that it is read as.

// A Difference is the first place where bytes are not the same, and how many there are.
type Difference struct {
	Argument string  // "#1", "#2+8", or the name of a variable
	Index    int     // of the element
	Type     string  // of it: "float", "double", "int", ...
	Want     string  // what the original left
	Got      string  // what the edit left
	Relative float64 `json:",omitempty"` // of numbers, the largest in all of it
	Absolute float64 `json:",omitempty"`
	Elements int     // that differ
	NaN      bool    `json:",omitempty"` // in nothing but the bits of NaNs

	beyond bool // what was allowed
}

// Within is how far numbers may be from the original's: either is enough.
type Within struct{ Absolute, Relative float64 }

// Allows tells of two numbers.
func (w Within) Allows(want, got float64) bool {
	if want != want || got != got || math.IsInf(want, 0) || math.IsInf(got, 0) {
		return want == got || want != want && got != got
	}
	d := math.Abs(want - got)
	return d <= w.Absolute || d <= w.Relative*math.Abs(want)
}

// Elements are the size of an element of a type, and its name.
func element(is string) (size int, name string) {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(is, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("double"):
		return 8, "double"
	case has("long", "int64", "size_t"):
		return 8, "long long"
	case has("half", "bfloat"):
		return 2, "half"
	case has("short", "int16"):
		return 2, "short"
	case has("char", "bool", "int8"):
		return 1, "char"
	case has("float", "T*"):
		return 4, "float"
	}
	return 4, "int"
}

// Compare finds what two memories have otherwise. Bytes for which ignore is true don't count; nil:
// all do.
func Compare(want, got *emulate.Memory, types map[string]string,
	ignore func(buffer, at, size int) bool, within Within) (first *Difference) {
	list := got.Buffers()
	for n, was := range want.Buffers() {
		is := list[n]
		size, name := element(types[was.Name])
		for at := 0; at < len(was.Bytes); at += size {
			end := min(at+size, len(was.Bytes))
			x, y := was.Bytes[at:end], is.Bytes[at:end]
			if string(x) == string(y) || ignore != nil && ignore(n, at, size) {
				continue
			}
			d := Difference{Argument: was.Name, Index: at / size, Type: name, Want: show(x, name),
				Got: show(y, name), beyond: true}
			a, number := float(x, name)
			b, _ := float(y, name)
			if number {
				d.NaN = a != a && b != b
				d.Absolute, d.Relative = math.Abs(a-b), math.Abs(a-b)/math.Abs(a)
				d.beyond = !d.NaN && (within == (Within{}) || !within.Allows(a, b))
			}
			first = first.join(d)
		}
	}
	return first
}

// join adds a difference: the first that is beyond what is allowed stays in front, and one that is
// more than a NaN's bits goes before one that is not.
func (d *Difference) join(o Difference) *Difference {
	if d == nil {
		o.Elements = 1
		return &o
	}
	o.Elements = d.Elements + 1
	o.Absolute, o.Relative = most(d.Absolute, o.Absolute), most(d.Relative, o.Relative)
	if o.beyond && !d.beyond || o.beyond == d.beyond && d.NaN && !o.NaN {
		return &o
	}
	d.Elements, d.Absolute, d.Relative = o.Elements, o.Absolute, o.Relative
	return d
}

// most is the larger of two; JSON has neither NaN nor infinity.
func most(a, b float64) float64 {
	b = min(b, math.MaxFloat64)
	if !(b >= a) {
		return min(a, math.MaxFloat64)
	}
	return b
}

func (d *Difference) String() string {
	return fmt.Sprintf("%s[%d]: %s, now %s", d.Argument, d.Index, d.Want, d.Got)
}

// float is what bytes are as a number, if they are one.
func float(b []byte, is string) (float64, bool) {
	switch {
	case len(b) == 8 && is == "double":
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), true
	case len(b) == 4 && is == "float":
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), true
	}
	return 0, false
}

func show(b []byte, is string) string {
	reversed := make([]byte, len(b))
	for n := range b {
		reversed[len(b)-1-n] = b[n]
	}
	if f, ok := float(b, is); ok {
		return fmt.Sprintf("%x (%v)", reversed, f)
	}
	if is == "int" && len(b) == 4 {
		return fmt.Sprintf("%x (%d)", reversed, int32(binary.LittleEndian.Uint32(b)))
	}
	return fmt.Sprintf("%x", reversed)
}
