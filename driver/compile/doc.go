// Package compile compiles kernels by recipes, through the same steps as nvcc and in a folder of
// its own: for a build (the ptxas stage) and for the tuner, from the cubin that a program has
// loaded back to its PTX and source, and forth to candidates (Compiler).
//
// Callers: driver/stage (Workbench), cmd/gnvcc, which gives policy a Compiler; driver/standing asks
// what a recipe wants of the source (Asked).
//
// Reading the source: workbench.go (a build with recipes), plan.go and second.go (what recipes come
// to), variant.go (source variants), refused.go (which are not compiled), joint.go (several in one
// run of cicc), eager.go and shared.go (what second
// entries must not change), resident.go (launches whose blocks must all be resident), linked.go
// (register caps with -rdc=true), code.go (a kernel's code, as lock files have it), controls.go;
// compiler.go and link.go (candidates), once.go (what is made once), count.go (builds that count, or
// have lines), pin.go and near.go.
package compile
