// Package splice puts other device code into a host object: one section's content is replaced by
// another one, byte for byte as the assembler would have laid it out; and it reads the device code
// out of preprocessed host code.
//
// Callers: driver/stage (the host stage), driver/apply (which compares objects without it). It
// imports no package of ours.
//
// Reading the source: splice.go.
package splice
