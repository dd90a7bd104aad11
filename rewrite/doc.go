// Package rewrite changes how a kernel is compiled, as a recipe (package rewrite/recipe) says. A
// recipe's terms act at four places: on the lowered device code (package rewrite/lowered), on the
// PTX (the passes here), as flags of ptxas, and in the host stub, where a second entry is launched
// (package rewrite/stub). The package imports only packages below it, and graph; driver and
// policy call it.
//
// Every lever is a row of one list, in order (passes.go), with the rules that the order keeps; every PTX
// pass is one file or folder, named after its lever, that begins with what it does, PTX before and
// after, when it is allowed, why that is safe and where it comes from. What passes share is package
// pass. A pass that can't do what the recipe says leaves its kernel as it was, and the reason is
// returned; after each kernel's passes the verifier (verify.go) looks at the result.
//
// Goldens are in testdata/*.txtar: PTX before, recipe, PTX after; `go test -update` rewrites them:
// read the diff.
package rewrite
