package judge

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"strconv"

	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/cubin"
	"gnvcc/sim/emulate"
)

// Arguments made up: pointers lead to buffers of their own, other values are small or fixed.

// A Signature is what is known of a kernel's arguments.
type Signature struct {
	Facts  cubin.Kernel
	Values []lowered.Value // those that the source has
	Types  []string        // of parameters in the source; may be shorter
	PTX    []string        // the same in PTX
	Fixed  map[recipe.Place]string
	// values that integers get in turn, by the kind of data; nil: small ones
	Sizes []int
}

// Arguments makes up the parameters, with numbers of a kind in buffers of so many bytes, whose
// types it enters by their names.
func (s *Signature) Arguments(m *emulate.Memory, types map[string]string, r *rand.Rand, kind,
	bytes int) ([]byte, error) {
	out := make([]byte, s.Facts.ParamBytes)
	for _, q := range s.Facts.Params {
		if end := q.Offset + q.Size; end > len(out) {
			out = append(out, make([]byte, end-len(out))...)
		}
	}
	buffer := func(argument, offset int, is string) uint64 {
		name := nameOf(argument, offset)
		b := m.Allocate(name, fill(r, kind, is, bytes))
		types[name] = is
		return b.Address
	}
	for _, q := range s.Facts.Params {
		known := false
		for _, v := range s.Values {
			if v.Argument != q.Ordinal || v.Offset+v.Bits/8 > q.Size || v.Bits == 0 {
				continue
			}
			known = true
			at := out[q.Offset+v.Offset:]
			if v.Class == lowered.Pointer {
				is := v.Type
				if v.Offset == 0 && v.Argument < len(s.Types) {
					is = s.Types[v.Argument]
				}
				put(at, v.Bits, buffer(v.Argument, v.Offset, is))
				continue
			}
			bits, err := s.value(r, v, kind)
			if err != nil {
				return nil, err
			}
			put(at, v.Bits, bits)
		}
		if !known {
			s.guess(r, q.Ordinal, out[q.Offset:q.Offset+q.Size], kind, buffer)
		}
	}
	return out, nil
}

// nameOf is what a buffer is called that an argument leads to.
func nameOf(argument, offset int) string {
	if offset == 0 {
		return fmt.Sprintf("#%d", argument)
	}
	return fmt.Sprintf("#%d+%d", argument, offset)
}

// guess is an argument of which the source does not tell: one of 64 bits is a pointer.
func (s *Signature) guess(r *rand.Rand, ordinal int, at []byte, kind int,
	buffer func(argument, offset int, is string) uint64) {
	if len(at) == 8 {
		is := "float*"
		if ordinal < len(s.Types) {
			is = s.Types[ordinal]
		}
		put(at, 64, buffer(ordinal, 0, is))
		return
	}
	if len(at) == 4 && ordinal < len(s.PTX) && s.PTX[ordinal] == ".f32" {
		put(at, 32, uint64(math.Float32bits(float32(number(r, kind, 1, 1e-40, 36)))))
		return
	}
	for n := range at {
		at[n] = 0
	}
	if len(at) == 4 && len(s.Sizes) > 0 {
		put(at, 32, uint64(s.Sizes[(kind+r.Intn(2))%len(s.Sizes)]))
		return
	}
	at[0] = byte(1 + r.Intn(8))
}

func put(at []byte, bits int, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	copy(at, b[:bits/8])
}

// value is an argument's: the one that is fixed, else one of the kind.
func (s *Signature) value(r *rand.Rand, v lowered.Value, kind int) (uint64, error) {
	text := s.Fixed[v.Place()]
	if v.Class == lowered.Float {
		f := number(r, kind, 1, 1e-40, 10)
		if text != "" {
			var err error
			if f, err = strconv.ParseFloat(text, v.Bits); err != nil {
				return 0, fmt.Errorf("%s=%s: %w", v.Name, text, err)
			}
		}
		if v.Bits == 32 {
			return uint64(math.Float32bits(float32(f))), nil
		}
		return math.Float64bits(f), nil
	}
	if text == "" {
		if len(s.Sizes) > 0 {
			return uint64(s.Sizes[(kind+r.Intn(2))%len(s.Sizes)]), nil
		}
		return uint64([]int{1, 2, 3, 4, 5, 8, 0, 7}[(kind+r.Intn(2))%8]), nil
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return uint64(n), nil
	}
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: %w", v.Name, text, err)
	}
	return n, nil
}
