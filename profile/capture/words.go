package capture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
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
		if a.Seconds > b.Seconds {
			return -1
		} else if a.Seconds < b.Seconds {
			return 1
		}
		return 0
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
	var out []string
	for i, p := range l.Params {
		for at := p.Offset; at < p.Offset+p.Size && p.Offset+p.Size <= len(x.Values); at += 8 {
			end := min(at+8, p.Offset+p.Size)
			differs := slices.ContainsFunc(sets.List, func(o profile.Set) bool {
				return !bytes.Equal(o.Values[at:end], x.Values[at:end])
			})
			if !differs || !slices.Contains(sets.Mask[at:end], 0xff) && !slices.Contains(sets.Mask[at:end],
				1) {
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
			return fmt.Sprint(math.Float32frombits(uint32(v)))
		}
		return fmt.Sprint(int32(v))
	case 8:
		if e := v >> 52 & 0x7ff; e > 1023-60 && e < 1023+60 {
			return fmt.Sprint(math.Float64frombits(v))
		}
		return fmt.Sprint(int64(v))
	}
	return fmt.Sprint(v)
}
