package ptx

import "fmt"

// Which register a name means. Inline assembly declares the same names in one scope after another,
// and each of them is a register of its own: %r12 is the innermost %r<n> with n above 12, or the
// innermost register of exactly that name.

// A Sight holds the declarations that are in sight, as a walk over a body's statements comes by.
// The zero Sight is the beginning of a body.
type Sight struct {
	list  []seen // innermost last
	marks []int  // where each open scope begins in it
}

type seen struct {
	name  string
	count int // 0: one register of exactly this name
	id    int
}

// limitRange bounds a register range: nvcc's largest functions have some hundred thousand.
const limitRange = 1 << 24

// Open and Close follow the scopes.
func (s *Sight) Open() { s.marks = append(s.marks, len(s.list)) }

// Close leaves the innermost scope.
func (s *Sight) Close() {
	last := len(s.marks) - 1
	s.list, s.marks = s.list[:s.marks[last]], s.marks[:last]
}

// Declare enters a declaration; Find gives its id back.
func (s *Sight) Declare(v *Variable, id int) error {
	if v.Count > limitRange {
		return fmt.Errorf("ptx: register range %s<%d> is larger than any function's", v.Name, v.Count)
	}
	s.list = append(s.list, seen{v.Name, v.Count, id})
	return nil
}

// Twice reports whether a register of a declaration is declared in the innermost scope already.
func (s *Sight) Twice(v *Variable) bool {
	from := 0
	if len(s.marks) > 0 {
		from = s.marks[len(s.marks)-1]
	}
	return within(s.list[from:], v)
}

// within reports whether a register of a declaration is one of a list's.
func within(list []seen, v *Variable) bool {
	cut, number := SplitNumber([]byte(v.Name))
	for _, d := range list {
		if d.name == v.Name && (d.count == 0) == (v.Count == 0) || v.Count == 0 && number >= 0 &&
			number < d.count && d.name == v.Name[:cut] {
			return true
		}
		if at, n := SplitNumber([]byte(d.name)); d.count == 0 && v.Count > 0 && n >= 0 && n < v.Count &&
			d.name[:at] == v.Name {
			return true
		}
	}
	return false
}

// Find returns the declaration that a name means and which of its registers; ok is false for
// special registers, variables and functions.
func (s *Sight) Find(name []byte) (id, n int, ok bool) {
	cut, n := SplitNumber(name)
	for i := len(s.list) - 1; i >= 0; i-- {
		switch d := &s.list[i]; {
		case d.count == 0 && string(name) == d.name:
			return d.id, 0, true
		case n >= 0 && n < d.count && string(name[:cut]) == d.name:
			return d.id, n, true
		}
	}
	return 0, 0, false
}

// SplitNumber returns where the number at the end of a register's name begins, and the number: %r12
// is %r and 12. n is -1 where there is none.
func SplitNumber(name []byte) (cut, n int) {
	cut = len(name)
	for factor := 1; cut > 0 && name[cut-1] >= '0' && name[cut-1] <= '9' &&
		factor < 1e9; factor *= 10 {
		n += int(name[cut-1]-'0') * factor
		cut--
	}
	if cut == len(name) || cut+1 < len(name) && name[cut] == '0' {
		return len(name), -1
	}
	return cut, n
}
