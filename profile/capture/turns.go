package capture

import (
	"bytes"
	"encoding/binary"
	"slices"

	"gnvcc/profile"
)

// Programs take turns with buffers: what one launch writes, the next one reads, and the arguments
// change places from launch to launch. What such a launch finds in the L2 cache is what the one
// before it left, with its arguments; a launch of its own before it leaves something else (the same
// lines are written again, and go to memory once).

// Turn gives the arguments of the launch directly before, where they differ from the captured ones
// in addresses alone, and it reaches no memory but what was captured. nil: it is not known, or
// there is no such launch.
func (m *Manifest) Turn() []byte {
	_, params, args, err := settingsOf(m.Settings)
	if err != nil || len(m.Prior) != len(args) || bytes.Equal(m.Prior, args) {
		return nil
	}
	other := bytes.Clone(m.Prior)
	for _, at := range wide(params) {
		if here, there := address(args, at), address(other, at); here != there {
			if !m.has(here) || !m.has(there) {
				return nil
			}
			copy(other[at:at+8], args[at:])
		}
	}
	if !bytes.Equal(other, args) {
		return nil // numbers differ, too
	}
	return m.Prior
}

// Turned gives the buffers that have changed places since the launch before (Turn).
func (m *Manifest) Turned() (out []profile.Stretch) {
	prior := m.Turn()
	if prior == nil {
		return nil
	}
	_, params, args, _ := settingsOf(m.Settings)
	for _, at := range wide(params) {
		for _, p := range []uint64{address(args, at), address(prior, at)} {
			if address(args, at) != address(prior, at) {
				out = append(out, profile.Stretch{Address: p, Size: 1})
			}
		}
	}
	return out
}

// Moves reports whether the configuration's launches differ in addresses alone, as those of a program
// that takes turns with buffers: each word of the arguments that is not the same in all of them is
// an address of captured memory here.
func (m *Manifest) Moves() bool {
	_, params, args, err := settingsOf(m.Settings)
	if err != nil || len(m.Use.Params) != len(params) {
		return false
	}
	var differ []int // bytes of the arguments
	for i, p := range params {
		if len(m.Use.Params[i].Same) != p.Size {
			return false
		}
		for k, same := range m.Use.Params[i].Same {
			if same == 0 {
				differ = append(differ, p.Offset+k)
			}
		}
	}
	places := wide(params)
	for _, k := range differ {
		i := slices.IndexFunc(places, func(at int) bool { return k >= at && k < at+8 })
		if i < 0 || !m.has(address(args, places[i])) {
			return false
		}
	}
	return len(differ) > 0
}

// Numeric reports whether a piece of memory is captured, and holds floating-point numbers alone.
func (m *Manifest) Numeric(base uint64, size int64) bool {
	found := false
	for _, r := range m.Ranges {
		if r.Base < base+uint64(size) && base < r.Base+uint64(r.Size) {
			if !r.Floating() {
				return false
			}
			found = true
		}
	}
	return found
}

// has reports whether an address is in a captured range.
func (m *Manifest) has(p uint64) bool { return m.rangeOf(p) >= 0 }

func address(args []byte, at int) uint64 { return binary.LittleEndian.Uint64(args[at:]) }

// wide gives the places of arguments that may hold addresses.
func wide(params []Span) (out []int) {
	for _, p := range params {
		for at := p.Offset; at%8 == 0 && at+8 <= p.Offset+p.Size; at += 8 {
			out = append(out, at)
		}
	}
	return out
}

// takeTurns gives a capture without a launch before it, such as the configuration's first one, the
// arguments that it would have had: changed as those of another capture were. They have to be those
// of a launch that was seen, since only what the program did is known to be right.
func takeTurns(list []*Manifest) {
	var seen [][]byte
	for _, m := range list {
		if m.Turn() != nil {
			_, _, args, _ := settingsOf(m.Settings)
			seen = append(seen, args, m.Prior)
		}
	}
	for _, m := range list {
		if m.Prior != nil {
			continue
		}
		for _, y := range list {
			prior := changed(m, y)
			if slices.ContainsFunc(seen, func(s []byte) bool { return bytes.Equal(s, prior) }) {
				m.Prior = prior
				break
			}
		}
	}
}

// changed gives m's arguments changed as y's changed from the launch before it, nil: y does not
// tell.
func changed(m, y *Manifest) []byte {
	_, params, mine, err := settingsOf(m.Settings)
	_, _, args, e := settingsOf(y.Settings)
	if err != nil || e != nil || y.Turn() == nil || len(mine) != len(args) {
		return nil
	}
	out := bytes.Clone(mine)
	places := wide(params)
	for _, at := range places {
		if address(args, at) == address(y.Prior, at) {
			continue
		}
		from := slices.IndexFunc(places, func(k int) bool {
			return address(args, k) == address(y.Prior, at)
		})
		if from < 0 {
			return nil // an address that the launch itself did not get
		}
		copy(out[at:at+8], mine[places[from]:])
	}
	return out
}

// settle marks launches of which another one with the same arguments found, and left, what they leave:
// done again on that, they change nothing.
func settle(list []*Manifest) {
	for _, m := range list {
		m.Settles = m.Settles || slices.ContainsFunc(list, func(o *Manifest) bool {
			return o.Settles && bytes.Equal(o.Settings, m.Settings) &&
				slices.EqualFunc(o.Ranges, m.Ranges, func(a, b Range) bool { return a.Base == b.Base && a.Size == b.Size }) &&
				slices.EqualFunc(o.After, m.After, func(a, b After) bool {
					return a.Variable == b.Variable && a.Base == b.Base && bytes.Equal(a.Sums, b.Sums)
				})
		})
	}
}
