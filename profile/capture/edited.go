package capture

import (
	"errors"
	"fmt"
	"slices"
)

// A capture with another kernel in it: the launch of a kernel that was edited since. Memory,
// arguments and shape are the captured launch's; the code is new, and so what it will leave is not
// known. A replay of it compares candidates with the new kernel alone.

// ErrUnlike says why an edited kernel can't be launched as the captured one was.
var ErrUnlike = errors.New("the captured launch does not fit the kernel any more")

// A Code is another build of a captured kernel.
type Code struct {
	Cubin     []byte
	Hash      string        // what launches call it by
	Params    [][2]int      // offset and size of each parameter, bytes
	Variables []ModuleValue // of its module
}

// A ModuleValue is a variable in a cubin.
type ModuleValue struct {
	Name    string
	Size    int64
	Reached bool // the kernel uses it
	Own     bool // its content comes with the code: a table of the source's own
}

// Edited gives the launch with another build of its kernel. The result is not kept, save for the
// code.
func (s *Store) Edited(m *Manifest, c Code) (*Manifest, error) {
	if _, had, err := m.Arguments(); err != nil {
		return nil, err
	} else if !slices.Equal(had, c.Params) {
		return nil, fmt.Errorf("%w: its parameters are others now", ErrUnlike)
	}
	out := *m
	out.After, out.Variables, out.Settles = nil, nil, false
	had := map[string]Variable{}
	for _, v := range m.Variables {
		had[v.Name] = v
	}
	for _, g := range c.Variables {
		v, captured := had[g.Name]
		switch {
		case captured && v.Content.Size == g.Size:
			out.Variables = append(out.Variables, v)
		case g.Reached && captured:
			return nil, fmt.Errorf("%w: its variable %s has another size now", ErrUnlike, g.Name)
		case g.Reached && !g.Own: // what the program would have put there is not known
			return nil, fmt.Errorf("%w: it uses the variable %s, which was not captured", ErrUnlike, g.Name)
		}
	}
	var err error
	if out.Code, err = s.put(c.Cubin); err != nil {
		return nil, err
	}
	out.Cubin = c.Hash
	return &out, nil
}
