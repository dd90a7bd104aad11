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

// Allows reports whether two numbers are near enough.
func (w Within) Allows(want, got float64) bool {
	if want != want || got != got || math.IsInf(want, 0) || math.IsInf(got, 0) {
		return want == got || want != want && got != got
	}
	d := math.Abs(want - got)
	return d <= w.Absolute || d <= w.Relative*math.Abs(want)
}

// element is the size of an element of a type, and its name: "const double2*" has doubles. 0 where the words
// are none of C's and CUDA's; a part of a word says nothing (floatings, doublet).
func element(is string) (size int, name string) {
	if strings.Count(is, "*") > 1 {
		return 8, "long long" // pointers
	}
	notWord := func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	for _, w := range strings.FieldsFunc(is, notWord) {
		w = strings.TrimPrefix(strings.TrimSuffix(w, "_t"), "__")
		switch w {
		case "int8", "uint8", "nv_bool":
			w = "char"
		case "int16", "uint16":
			w = "short"
		case "int64", "uint64", "size", "ptrdiff", "intptr", "uintptr":
			w = "long"
		case "int32", "uint32", "unsigned", "signed":
			size, name = 4, "int" // more may follow: unsigned char
			continue
		}
		switch strings.TrimRight(w, "1234") { // float4, uchar2
		case "double":
			return 8, "double"
		case "long", "longlong", "ulong", "ulonglong":
			return 8, "long long"
		case "half", "half_raw", "half2_raw", "nv_bfloat", "nv_bfloat16_raw", "nv_bfloat162_raw", "nv_bfloat16", "nv_bfloat162":
			return 2, "half"
		case "short", "ushort":
			return 2, "short"
		case "char", "uchar", "bool":
			return 1, "char"
		case "float":
			return 4, "float"
		case "int", "uint":
			size, name = 4, "int" // long int and int long are one
		}
	}
	return size, name
}

// elementOr is the same, with words of 4 bytes where nothing is known.
func elementOr(is string) (size int, name string) {
	if size, name = element(is); size == 0 {
		return 4, "int"
	}
	return size, name
}

// Compare finds what two memories have otherwise. Bytes for which ignore is true don't count; nil:
// all do.
func Compare(want, got *emulate.Memory, types map[string]string,
	ignore func(buffer, at, size int) bool, within Within) (first *Difference) {
	list := got.Buffers()
	for n, was := range want.Buffers() {
		is := list[n]
		size, name := elementOr(types[was.Name])
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
