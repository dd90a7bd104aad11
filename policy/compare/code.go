// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"gnvcc/policy"
	"gnvcc/sim"
	"gnvcc/sim/cubin"
	"gnvcc/sim/sass"
)

// A Code is what a build's machine code says of a kernel, without a GPU.
type Code struct {
	Registers    int
	Spill        int // bytes of spill stores of a thread
	Stack        int // bytes of local memory of a thread
	Shared       int // static, bytes
	Barriers     int
	Instructions int // in the code, as often as they stand there; 0: it can't be decoded
	Local        int // of them, loads and stores of local memory
	MaxThreads   int // the largest block by directives; 1024 without
}

// sameCode reports whether both builds are one to the byte that the GPU executes.
func (k *Kernel) sameCode() bool {
	if k.Gone {
		return false
	}
	was, err1 := policy.CodeHash(k.before.content, k.before.kernel.Name)
	is, err2 := policy.CodeHash(k.after.content, k.after.kernel.Name)
	return err1 == nil && err2 == nil && was == is && k.Before == k.After
}

// code reads one build's.
func (s side) code() Code {
	c := Code{Registers: s.kernel.Registers, Spill: s.kernel.Spill, Stack: s.kernel.Stack,
		Shared: s.kernel.Shared, Barriers: s.kernel.Barriers, MaxThreads: sim.BlockThreads}
	if f, err := cubin.Read(s.content); err == nil {
		if k, ok := f.Kernel(s.kernel.Name); ok && k.MaxThreads > 0 {
			c.MaxThreads = k.MaxThreads
		}
	}
	f, err := sass.Find(s.content, s.kernel.Name)
	if err != nil {
		return c
	}
	flow := f.Flow()
	for i := range f.Insts {
		if !flow.Reached(flow.Block(i)) {
			continue // behind the last instruction ptxas fills up
		}
		c.Instructions++
		if f.Insts[i].Space() == sass.Local {
			c.Local++
		}
	}
	return c
}
