// Package lowered is the source stage: it takes one kernel out of the device code of a translation
// unit as cicc's front end writes it (--gen_device_file_name, x.cudafe1.gpu), so that LLVM compiles
// that kernel alone, untouched or in another way.
//
// That text is C with attributes: templates are instantiated, names mangled, classes are structs,
// macros gone; unroll pragmas, launch bounds, __restrict__, inline assembly and line marks are kept.
// So what a kernel reaches is found by names alone (Kernel.Slice), and cicc takes a slice in a tenth
// of a second where it takes seconds for the headers of the file. cicc has its own
// preprocessor: a slice begins with our own header.h and needs no other file and no other tool.
//
// What makes it safe: the untouched slice must give the PTX that nvcc made of the kernel, in normal
// form (Same). Where it does not, for whatever reason, that kernel has no source levers. The caller
// checks that; so a reader that takes in too little, or a cicc that takes C for another C++, costs a
// kernel its levers and never its meaning. What cicc makes of a slice is parsed by Read, never by
// ptx.Parse: names are static no more in a slice.
//
// Levers (Unit.Rewrite): unrolling, a hint; specialisation, launched by the host only where its
// conditions hold (Kernel.Conditions); approximate functions, for those who ask.
//
// The driver may call it (the build) and the tuner through it. It imports gnvcc/rewrite/recipe for
// terms and gnvcc/rewrite/ptx for signatures, nothing else of ours.
//
// Reading: lex.go (bytes to tokens), decl.go (declarations at file scope), unit.go. Slicing:
// slice.go, header.go and header.h; same.go. A kernel: kernel.go (its parameters), loops.go, types.go
// (layout of structs), values.go (what can be fixed). Levers: unroll.go, spec.go, fastmath.go, and
// rewrite.go for all of them. host.go and signature.go: what launches must fulfil.
package lowered
