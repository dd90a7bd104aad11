package capture

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gnvcc/profile"
)

// Sets of values for people. Types are not known here: a number is shown as an integer, or as
// floating point where it can hardly be one.

// A Part is one set of a configuration's launches.
type Part struct {
	profile.Set
	// "#1=64 #3=0.5": the arguments in which the sets differ, by their place among the kernel's from 0
	Words string
}

// Parts are the sets that weigh something, the heaviest first; none where there is but one. Others
// sums up the rest.
func (l *Line) Parts() (parts []Part, rest profile.Set) {
	sets := l.Sets.Settled()
	if len(sets.List) < 2 {
		return nil, rest
	}
	slices.SortStableFunc(sets.List, func(a, b profile.Set) int {
		return cmp.Compare(b.Seconds, a.Seconds)
	})
	for _, x := range sets.List {
		if x.Seconds < setShare*l.Seconds || len(parts) == mostSets {
			rest.Count, rest.Seconds, rest.Sampled = rest.Count+x.Count, rest.Seconds+x.Seconds,
				rest.Sampled+x.Sampled
			continue
		}
		parts = append(parts, Part{x, l.words(&sets, x)})
	}
	return parts, rest
}

// words names the arguments that tell a set from others.
func (l *Line) words(sets *profile.Sets, x profile.Set) string {
	return values(l.Params, sets, x, func(at, end int) bool {
		return slices.ContainsFunc(sets.List, func(o profile.Set) bool {
			return !bytes.Equal(o.Values[at:end], x.Values[at:end])
		})
	})
}

const longestName = 60 // bytes, of a set's

// nameOf is what a set is called, in every run the same: its values, of addresses that there is
// none. A hash completes what is too long.
func nameOf(params []Span, sets *profile.Sets, x profile.Set) string {
	masked := x
	masked.Values = slices.Clone(x.Values)
	for i := range masked.Values {
		masked.Values[i] &= sets.Mask[i] // what distinguishes none is the first launch's
	}
	text := values(params, sets, masked, func(at, end int) bool {
		return slices.Contains(sets.Mask[at:end], 0xff) || bytes.Count(masked.Values[at:end],
			[]byte{0}) == end-at
	})
	if len(text) > longestName {
		text = text[:strings.LastIndexByte(text[:longestName], ' ')+1] + "... " + sets.ID(x.Values)
	}
	if text == "" {
		text = sets.ID(x.Values)
	}
	return text
}

// values lists the arguments of a set that are wanted, up to 8 bytes each.
func values(params []Span, sets *profile.Sets, x profile.Set,
	wanted func(at, end int) bool) string {
	var out []string
	for i, p := range params {
		for at := p.Offset; at < p.Offset+p.Size && p.Offset+p.Size <= len(x.Values); at += 8 {
			end := min(at+8, p.Offset+p.Size)
			if !wanted(at, end) || !slices.Contains(sets.Mask[at:end], 0xff) &&
				!slices.Contains(sets.Mask[at:end], 1) {
				continue
			}
			place := fmt.Sprintf("#%d", i)
			if at > p.Offset {
				place += fmt.Sprintf("+%d", at-p.Offset)
			}
			out = append(out, place+"="+number(x.Values[at:end]))
		}
	}
	return strings.Join(out, " ")
}

func number(b []byte) string {
	var full [8]byte
	copy(full[:], b)
	v := binary.LittleEndian.Uint64(full[:])
	switch len(b) {
	case 4:
		if e := v >> 23 & 0xff; e > 127-40 && e < 127+40 {
			return floating(float64(math.Float32frombits(uint32(v))), 32)
		}
		return fmt.Sprint(int32(v))
	case 8:
		if e := v >> 52 & 0x7ff; e > 1023-60 && e < 1023+60 {
			return floating(math.Float64frombits(v), 64)
		}
		return fmt.Sprint(int64(v))
	}
	return fmt.Sprint(v)
}

// floating never looks like an integer.
func floating(v float64, bits int) string {
	text := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}
