package demote

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"gnvcc/rewrite/pass"
)

// demote=spill lets ptxas spill registers to shared memory before it takes local memory.
//
//	{                               {
//		.reg .b32 %r<10>;           	.pragma "enable_smem_spilling";
//		...                         	.reg .b32 %r<10>;
//
// Allowed with PTX ISA 9.0 and later, and only where ptxas takes it: not with calls that are left
// in the PTX ("should not be enabled when functions use abi"), not with dynamic shared memory, not
// with -rdc or -G ("per-function compilation modes"); all fatal for the file (ptxas 13.0,
// 13.5). Not with setmaxnreg, nor with alloca, whose frame ptxas loses (docs/facts.md).
//
// A second entry is launched with one block only, and ptxas gets its size: without .maxntid it
// reserves for 1024 threads, 43 KB in examples/demote, with .maxntid 128 9 KB. It gets whole warps:
// for .maxntid 48 it reserves the words of 48 threads, and lays them out by warps, so that the last
// threads' lie behind what the block has (an illegal address on an H200; ptxas 13.0 to 13.5).
//
// Safe: the values are the same. Without .maxntid ptxas reserves for blocks of 1024 threads, up to
// 48 KB in all, and addresses by the real thread index (SASS looked at). A launch may ask for
// dynamic shared memory which the kernel has no array for (to throttle occupancy), and for more
// than would be left: so this is for second entries, chosen by how much is asked for.
//
// From: ptxas 13.0's own feature; the idea: Sakdhnagool et al., RegDem.
func spill(k *pass.Kernel) error {
	if err := k.Machine.Needs("the pragma", 90, 75); err != nil {
		return err
	}
	t, err := k.Uses()
	if err != nil {
		return err
	}
	if err := k.TakesShared(); err != nil {
		return err
	}
	switch {
	case k.Options.Relocatable:
		return errors.New("ptxas refuses it in relocatable code (-rdc)")
	case slices.Contains(k.Module.Target, "debug"):
		return errors.New("ptxas refuses it in debugging code (-G)")
	case t.Calls:
		return errors.New("ptxas refuses it in a kernel with calls")
	case t.SharedDynamic:
		return errors.New("ptxas refuses it in a kernel with dynamic shared memory")
	case t.SetMaxNReg:
		return errors.New("the kernel moves registers between warps (setmaxnreg)")
	case bytes.Contains(k.Text(), []byte("alloca.")):
		return errors.New("the kernel has alloca, and ptxas loses the frame")
	case slices.Contains(k.Pragmas(), "enable_smem_spilling"):
		return errors.New("the source has the pragma already")
	}
	if own := t.SharedStatic + k.Options.Dynamic[k.Name]; own >= pass.SharedLimit {
		return fmt.Errorf("the kernel has %d bytes of shared memory, nothing is left", own)
	}
	n, _ := k.Threads()
	if n%pass.Warp != 0 {
		return fmt.Errorf("the kernel is bounded to %d threads, and ptxas reserves too little for blocks "+
			"that are no whole warps", n)
	}
	if d := k.Options.Blocks[k.Name]; n == 0 && d[0]*d[1]*d[2] > 0 {
		if threads := d[0] * d[1] * d[2]; threads%pass.Warp != 0 {
			d = [3]int{(threads + pass.Warp - 1) / pass.Warp * pass.Warp, 1, 1}
		}
		k.AddDirective(fmt.Sprintf(".maxntid %d, %d, %d", d[0], d[1], d[2]))
	}
	k.Insert(0, `.pragma "enable_smem_spilling";`)
	return nil
}
