// Package stub edits the host stub, so that a kernel can have a second, specialised entry that the
// host chooses.
//
// nvcc compiles the host side of every kernel from a file x.cudafe1.stub.c, which cicc writes
// beside the PTX: a function for each kernel that has its arguments and launches it, and a function
// that registers all kernels with the runtime. Patch makes that launch look at the arguments first.
// Where they have the values that a recipe was made for, the second entry is launched; in every
// other case the kernel is launched as nvcc wrote it. So the ordinary kernel keeps its own
// registers and its own code: it pays nothing for the specialised one.
//
// The package knows text only: no toolkit, no store. It is called by driver, in the ptxas stage,
// which runs before the host compiler reads the stub.
package stub
