package rewrite

import (
	"fmt"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
)

// What a launch needs, and the one rule by which no launch that worked may fail or hang: it is
// asked before ptxas (maxnreg), of every cubin that a build makes, and of every candidate.

// A Code is what of a kernel's machine code decides whether a launch succeeds.
type Code struct {
	Registers int // a thread, 0: not known
	Shared    int // static shared memory, bytes
	Threads   int // the largest block by directives, 0: no bound
	Stack     int // local memory of a thread: its frame, with what is spilled, bytes
}

// Launches are those that come to a changed kernel.
type Launches struct {
	Largest int    // threads of the largest block that has to be launched
	Dynamic *int   // bytes of dynamic shared memory of all of them; nil: not known
	Waits   string // why blocks may wait for each other (await.Why), "" if none does
	// the changed code is a second entry: where its launch is refused, the host stub launches the
	// kernel itself (package stub); and no kernel of its file may wait for others
	Instead bool
}

// StackLimit is the local memory that a context has for each thread from the beginning: the default
// of cudaLimitStackSize, bytes. Whatever takes more makes the driver get memory for all threads of
// the device, which fails where the program has taken all of it (seen on an H200), and waits for
// kernels that run.
const StackLimit = 1024

// moreStack is how often the local memory of nvcc's own code a second entry may have.
const moreStack = 2

// Shrinks says why one of the launches could fail, or hang, with `now` in the place of nvcc's own
// code.
//
// A launch may ask for dynamic shared memory that the kernel never touches, up to all that its own
// leaves, and the program may have set its limit (cudaFuncSetAttribute) to all that is left: so a
// kernel has no byte of its own more, unless the host chooses it by how much dynamic shared memory
// is asked for. Where blocks wait for each other the launch counts on all of them being resident,
// and nothing that a block takes may grow.
//
// Local memory may become more than nvcc's own kernel takes, and than every context has, in a
// second entry alone, and only of a kernel that takes more than every context has itself. The
// launch of such a kernel makes the driver get memory for all threads and wait for what runs,
// whoever compiled it; a program that launches it lives with both. If the driver has no memory
// left for the second entry, cudaLaunchKernel refuses its launch (cudaErrorMemoryAllocation),
// and the host stub launches the kernel itself, as if there were no second entry: so no launch
// fails, however full the GPU is. In a graph that is captured it is never launched. Beside a
// kernel of its file that may wait for others it is not taken: what waits for the end of that
// one would wait for ever. What it costs is that the context keeps so much more of the GPU's
// memory (bytes a thread, times the threads that can be resident: 270,336 on an H200): at most
// as much again as nvcc's own kernel has it keep.
func (l Launches) Shrinks(was, now Code) error {
	more := now.Registers > was.Registers && was.Registers > 0
	switch {
	case l.Waits != "" && (more || now.Shared > was.Shared):
		return fmt.Errorf(
			"its blocks may wait for each other (%s): with %d registers and %d bytes of shared memory (%d and %d by nvcc) "+
				"fewer of them could be resident than the launch relies on", l.Waits, now.Registers, now.Shared,
			was.Registers, was.Shared)
	case now.Threads > 0 && now.Threads < l.Largest:
		return fmt.Errorf("it would launch with blocks of %d threads at most, and %d can be launched now",
			now.Threads, l.Largest)
	case (more || was.Registers == 0) && maxBlock(now.Registers) < wholeWarps(l.Largest):
		return fmt.Errorf("with %d registers (%d by nvcc) blocks of %d threads could not be launched",
			now.Registers, was.Registers, l.Largest)
	case now.Shared > was.Shared && l.Dynamic == nil:
		return fmt.Errorf(
			"it takes %d bytes of shared memory more, and a launch may ask for all that nvcc's own code leaves: "+
				"that is for a second entry, chosen by host(dynamic)", now.Shared-was.Shared)
	case now.Shared > was.Shared && now.Shared+*l.Dynamic > pass.SharedLimit:
		return fmt.Errorf(
			"it takes %d bytes of shared memory, more than the 48 KiB that every launch may have",
			now.Shared+*l.Dynamic)
	}
	return l.stack(was.Stack, now.Stack)
}

// stack is Shrinks for local memory, bytes a thread.
func (l Launches) stack(was, now int) error {
	switch {
	case now <= max(was, StackLimit):
		return nil
	case was <= StackLimit:
		return fmt.Errorf(
			"it takes %d bytes of local memory a thread (%d by nvcc), more than the %d that are there for "+
				"every launch: with all memory taken it could not be launched", now, was, StackLimit)
	case !l.Instead:
		return fmt.Errorf("it takes %d bytes of local memory a thread (%d by nvcc): that is for a second "+
			"entry, in whose place the kernel itself is launched where no memory is left, in a file in which no "+
			"kernel waits for others", now, was)
	case now > moreStack*was:
		return fmt.Errorf("it takes %d bytes of local memory a thread, more than twice the %d by nvcc", now,
			was)
	}
	return nil
}

func wholeWarps(threads int) int { return (threads + 31) / 32 * 32 }

// maxBlock is the largest block, in threads, that an SM has registers for. Since sm_70 it has four
// parts with 16384 registers each, a warp is given registers in units of 256, and the warps of a
// block are dealt out evenly over the parts (CUDA C++ programming guide, compute capabilities;
// NVIDIA's occupancy calculator).
func maxBlock(registers int) int {
	if registers <= 0 {
		return pass.MaxThreads
	}
	warp := (registers*32 + 255) / 256 * 256
	return min(16384/warp*4*32, pass.MaxThreads)
}

// OwnCap is the cap under which ptxas compiles a kernel that asks for none: the most registers
// with which a block of .maxntid or .reqntid can be launched.
func OwnCap(f *ptx.Func) int {
	threads, _ := f.Threads()
	n := pass.MaxRegisters
	for maxBlock(n) < wholeWarps(min(threads, pass.MaxThreads)) {
		n--
	}
	return n
}

// LargestBlock is the largest block that can be launched with nvcc's own compile: by the source's
// .reqntid or .maxntid, and by its registers (0: not known, no bound).
func LargestBlock(f *ptx.Func, registers int) int {
	n, exact := f.Threads()
	if n == 0 || n > pass.MaxThreads {
		n = pass.MaxThreads
	}
	if exact {
		return n
	}
	return min(n, maxBlock(registers))
}

// fitsBefore reports whether a kernel that has `after` registers a thread launches with every block
// with which nvcc's own compile does, which has `before` (0: not known). `after` may be a cap, or
// what was read from a cubin.
func fitsBefore(f *ptx.Func, before, after int) bool {
	return maxBlock(after) >= wholeWarps(LargestBlock(f, before))
}

// largestCount is the largest register count that fitsBefore takes.
func largestCount(f *ptx.Func, before int) int {
	for n := pass.MaxRegisters; n > pass.MinRegisters; n-- {
		if fitsBefore(f, before, n) {
			return n
		}
	}
	return pass.MinRegisters
}
