package source

import (
	"sort"
)

// What tests ask of a unit that nobody else does.

// userFiles lists the user's files in the order of their appearance.
func (u *Unit) userFiles() []string {
	var names []string
	for _, f := range u.files {
		if !f.header {
			names = append(names, f.name)
		}
	}
	return names
}

// kernels lists the kernels that the user's files define, in the order of the text.
func (u *Unit) kernels() []*Kernel {
	var ks []*Kernel
	for _, f := range u.functions {
		if f.kernel {
			ks = append(ks, u.kernel(f, nil))
		}
	}
	sort.SliceStable(ks, func(i, j int) bool { return ks[i].f.open < ks[j].f.open })
	return ks
}
