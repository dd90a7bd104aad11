package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Sets of argument values: the launches of one configuration, told apart by the numbers that they
// are given. The agent keeps them (agent/source/sets.c); here they are put together over processes
// and runs.

// A Set is the launches of a configuration with the same values.
type Set struct {
	// the arguments of its first launch, an address as whether there is one
	Values []byte `json:"values"`
	Count  int    `json:"count"`
	// on the device, all of them; estimated from those that were timed
	Seconds float64 `json:"seconds"`
	Sampled int     `json:"sampled"`
	// of its launches, estimated from those that were timed
	Classes []Class `json:"classes,omitempty"`
}

// Sets are those of a configuration. A word (4 bytes) of arguments that takes ever new values tells
// none apart: its mask is zero.
type Sets struct {
	// a byte each of the arguments: 0xff, 0, or 1 where an address is
	Mask []byte `json:"mask,omitempty"`
	List []Set  `json:"list,omitempty"`
}

const word = 4 // bytes

// Normal gives a launch's arguments as sets have them, where a mask says which of them are addresses.
func Normal(mask, args []byte) []byte {
	out := append(slices.Clone(args), make([]byte, max(0, len(mask)-len(args)))...)
	for at := 0; at+2*word <= len(mask); at += word {
		if mask[at] == 1 && mask[at+word] == 1 {
			is := slices.ContainsFunc(out[at:at+2*word], func(b byte) bool { return b != 0 })
			clear(out[at : at+2*word])
			if is {
				out[at] = 1
			}
			at += word
		}
	}
	return out
}

// Alike tells whether two launches belong to one set.
func (s *Sets) Alike(a, b []byte) bool {
	if len(a) != len(s.Mask) || len(b) != len(s.Mask) {
		return false
	}
	for i, m := range s.Mask {
		if (a[i]^b[i])&m != 0 {
			return false
		}
	}
	return true
}

// Find gives the number of the set that a launch with these values belongs to, -1: of none.
func (s *Sets) Find(values []byte) int {
	return slices.IndexFunc(s.List, func(x Set) bool { return s.Alike(x.Values, values) })
}

// Add adds launches to their set.
func (s *Sets) Add(x Set) {
	if i := s.Find(x.Values); i >= 0 {
		o := &s.List[i]
		o.Count, o.Seconds, o.Sampled = o.Count+x.Count, o.Seconds+x.Seconds, o.Sampled+x.Sampled
		o.Classes = JoinClasses(o.Classes, x.Classes)
		return
	}
	s.List = append(s.List, x)
}

// ignore makes a word tell no sets apart.
func (s *Sets) ignore(at int) {
	for i := at; i < min(at+word, len(s.Mask)); i++ {
		s.Mask[i] = 0
	}
	old := s.List
	s.List = nil
	for _, x := range old {
		s.Add(x)
	}
}

// Join gives the sets of two processes, or runs: what separates none in either does not in both.
func (s Sets) Join(o Sets) Sets {
	if len(s.Mask) != len(o.Mask) || len(s.List) == 0 {
		return o.clone()
	}
	out := s.clone()
	for i := range out.Mask {
		out.Mask[i] &= o.Mask[i]
	}
	old := out.List
	out.List = nil
	for _, x := range slices.Concat(old, o.List) {
		out.Add(x)
	}
	return out
}

// Classes are those of all launches.
func (s *Sets) Classes() (out []Class) {
	for _, x := range s.List {
		out = JoinClasses(out, x.Classes)
	}
	return out
}

func (s Sets) clone() Sets { return Sets{slices.Clone(s.Mask), slices.Clone(s.List)} }

// Settled gives the sets without what varies from launch to launch: a word with four values and
// more, few of which come twice, is a step of a loop, not a size.
func (s Sets) Settled() Sets {
	out := s.clone()
	for at := 0; at < len(out.Mask); at += word {
		counts := map[string]int{}
		launches := 0
		for _, x := range out.List {
			counts[string(x.Values[at:min(at+word, len(x.Values))])] += x.Count
			launches += x.Count
		}
		if out.Mask[at] != 0 && len(counts) >= 4 && launches < 2*len(counts) {
			out.ignore(at)
		}
	}
	return out
}

// Varies tells whether launches of one set may differ in numbers.
func (s *Sets) Varies() bool { return slices.Contains(s.Mask, 0) }

// ID names a set by its values, the same in every run.
func (s *Sets) ID(values []byte) string {
	kept := slices.Clone(values)
	for i := range kept {
		if i < len(s.Mask) {
			kept[i] &= s.Mask[i]
		}
	}
	sum := sha256.Sum256(kept)
	return hex.EncodeToString(sum[:4])
}

// Same tells which bytes of the arguments are the same in all launches of a set. all is that of all
// launches of the configuration: words that tell no sets apart, and addresses, are as constant as
// it says.
func (s *Sets) Same(all []byte) []byte {
	out := slices.Clone(all)
	for at := 0; at+word <= len(out) && at < len(s.Mask); at += word {
		if s.Mask[at] != 0xff {
			continue
		}
		for i := at; i < at+word; i++ {
			out[i] = 1
		}
	}
	return out
}
