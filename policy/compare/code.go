// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"slices"

	"gnvcc/policy"
	"gnvcc/policy/predicted"
	"gnvcc/rewrite/ptx"
	"gnvcc/sim"
	"gnvcc/sim/cubin"
	"gnvcc/sim/predict"
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

// look compares what both builds' code says of a kernel.
func (k *Kernel) look() {
	if k.Gone {
		return
	}
	was, err1 := policy.CodeHash(k.before.content, k.before.kernel.Name)
	is, err2 := policy.CodeHash(k.after.content, k.after.kernel.Name)
	k.Same = err1 == nil && err2 == nil && was == is && k.Before == k.After
	if !k.Same {
		k.predict()
	} else if len(k.Launches) > 0 {
		k.Predicted = 1
	}
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

// unlike says why the model can't hold the two builds against each other: it guesses how often
// loops run, the same for each, and a loop that one build has unrolled runs less often.
func (k *Kernel) unlike() string {
	a, b := k.before.loops(), k.after.loops()
	if !slices.Equal(a, b) {
		return "its loops are unrolled otherwise"
	}
	return ""
}

// loops are how many accesses to memory and floating-point instructions each loop has.
func (s side) loops() (out []int) {
	f, err := sass.Find(s.content, s.kernel.Name)
	if err != nil {
		return nil
	}
	flow := f.Flow()
	for _, l := range flow.Loops {
		memory, floats := 0, 0
		for _, b := range l.Blocks {
			for i := flow.Blocks[b].Start; i < flow.Blocks[b].End; i++ {
				switch f.Insts[i].Space() {
				case sass.Global, sass.Shared, sass.Generic:
					memory++
				}
				switch f.Insts[i].Class() {
				case sass.FP32, sass.FP64, sass.FP16, sass.Tensor, sass.SFU:
					floats++
				}
			}
		}
		out = append(out, memory, floats)
	}
	return out
}

// predict says how long the later build takes over the earlier one by the model of sim/predict, on
// the launch that takes most time; nothing where they are for two architectures, of which times
// can't be compared.
func (k *Kernel) predict() {
	if k.before.unit.Target != k.after.unit.Target || len(k.Launches) == 0 {
		return
	}
	device, rates, err := predicted.Rates(ptx.Capability(k.Target))
	if err != nil {
		return
	}
	l := k.Launches[0]
	shape := sim.Shape{Threads: l.Shape().Threads(), Shared: l.Dynamic, Blocks: l.Shape().Blocks()}
	if k.Assumed != "" {
		shape.Blocks = 0
	}
	if why := k.unlike(); why != "" {
		k.Unpredicted = why
		return
	}
	was, err1 := predict.NewRun(k.before.content, k.before.kernel.Name, device, shape, rates)
	is, err2 := predict.NewRun(k.after.content, k.after.kernel.Name, device, shape, rates)
	if err1 != nil || err2 != nil {
		return
	}
	ranked, err := predict.Rank(predict.Candidate{Run: was}, []predict.Candidate{{Run: is}})
	if err == nil && ranked[0].Err == nil {
		k.Predicted = ranked[0].Time
	}
}
