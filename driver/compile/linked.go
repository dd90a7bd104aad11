package compile

import (
	"errors"
	"fmt"

	"gnvcc/cache"
	"gnvcc/rewrite"
	"gnvcc/sim/cubin"
)

// Register caps of kernels that call functions of other objects (-rdc=true).
//
// nvlink gives a kernel the largest register count of all that it calls. Where the kernel was
// compiled under a bound, it ends the link instead, if a function has more ("entry function ...
// with max regcount of 32 calls function ... with regcount of 255"): a build that works without us
// would fail, maybe that of a program that gets this object in a library, a year from now. The
// bound is an attribute of the cubin, which nothing but nvlink reads. So a cap holds for ptxas, and
// the attribute says afterwards what it says of nvcc's own compile: that there is none, or what the
// blocks of __launch_bounds__ leave.
//
// No launch can fail that worked: with n registers in the kernel and m in what it calls it has
// max(n, m), with nvcc's own o max(o, m). That blocks fit with n where they fit with o is asked of
// every cap (rewrite.Launches), and m is the same.
//
// A kernel with a bound of nvcc's own (-maxrregcount, __maxnreg__, a second value of
// __launch_bounds__) keeps it: its programs link because all functions are below it, and who
// compiled them knows it. Local memory may not grow, for what the functions take comes on top, and
// is not known.

// linkable readies a cubin for a link with other objects.
func linkable(in input, p *plan, content []byte) (
	out []byte, bad map[string]error) {
	out, bad = content, map[string]error{}
	if !in.job.Call.Reloc {
		return out, bad
	}
	for name, r := range p.passes {
		f := in.module.Entry(name)
		if f == nil || len(r.Without(rewrite.MaxNReg).Terms) == len(r.Terms) ||
			!rewrite.Linked(in.module, name) {
			continue
		}
		if in.job.Call.MaxReg || rewrite.Bounded(f) {
			bad[name] = errors.New("it calls functions that may be another object's, under a bound of its " +
				"own (-maxrregcount, __maxnreg__, the second value of __launch_bounds__), to which nvlink " +
				"holds them")
			continue
		}
		capped, err := cubin.Capped(out, name, rewrite.OwnCap(f))
		if err == nil {
			err = deeper(name, in.kernels, out)
		}
		if err != nil {
			bad[name] = err
			continue
		}
		out = capped
	}
	return out, bad
}

// deeper says that a kernel has more local memory than nvcc's own.
func deeper(name string, kernels []cache.Kernel, content []byte) error {
	file, err := cubin.Read(content)
	if err != nil {
		return fmt.Errorf("read the cubin: %w", err)
	}
	now, _ := file.Kernel(name)
	for _, was := range kernels {
		if was.Name == name && now.Stack > was.Stack {
			return fmt.Errorf("it takes %d bytes of local memory a thread (%d by nvcc), and what it calls in "+
				"other objects takes more on top", now.Stack, was.Stack)
		}
	}
	return nil
}
