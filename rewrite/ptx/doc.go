// Package ptx reads and writes NVIDIA's PTX assembly without losing a byte: Parse and then Bytes
// give the input back, and an edit changes only the statements that it names. It knows the shape of
// a module (entries, functions, variables, directives, statements, operands), not the meaning of
// each instruction; what it can't make sense of is an error, and the caller then leaves the file as
// it was.
//
// The package also says what a kernel is: Identity hashes an entry with all that it reaches, in a
// form that an edit elsewhere in the file does not change, and Traits lists what a kernel uses that
// decides which rewrites are allowed.
//
// rewrite and driver call it; it imports no package of ours. A Module may be read from several
// goroutines, not edited.
//
// Reading the source: lex.go (bytes to words), parse.go (words to statements), module.go (the
// values), variable.go (declarations), operand.go, access.go and effect.go (inside a statement),
// sight.go (which register a name means), edit.go (changes), cfg.go
// (control flow), reach.go, traits.go and identity.go (what a kernel is), name.go and shortname.go
// (compiler-made names), target.go. What a body computes is read by ptx/ir, waiting for
// other blocks by ptx/await.
package ptx
