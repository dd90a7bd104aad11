// Package compile compiles kernels by recipes, through the same steps as nvcc and in a scratch folder:
// for a build (the ptxas stage), and for the tuner (Compiler), which finds PTX and source of the cubin
// that a program has loaded and compiles candidates from them.
//
// Callers: driver/stage (Workbench), cmd/gnvcc, which gives policy a Compiler; driver/standing asks
// what a recipe wants of the source (Asked).
//
// A build with recipes: workbench.go (from recipes to a cubin), plan.go and second.go (what recipes
// come to), variant.go (kernels rewritten in the lowered device code), refused.go (which are not
// compiled), eager.go and shared.go (what second entries must not change), resident.go (launches whose blocks must all be resident), linked.go (register caps with
// -rdc=true), code.go (whether the code is what was locked, or checked), tool.go (runs of the tools).
//
// The tuner's: compiler.go (candidates), source.go (what a loaded kernel was built from), link.go
// (candidates that are linked on the device), once.go (what is made once), count.go (builds that
// count, or have lines), pin.go (recipes by hand), near.go (which build a program came from).
package compile
