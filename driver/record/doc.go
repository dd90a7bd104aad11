// Package record is what builds write down for each other and for those who come after them: the
// commands, the calls of cicc (translations), and which cubin came from what (assemblies, links).
//
// Callers: driver's face and stages write it; driver/compile, driver/standing and driver/apply read
// it. Which recipe a build takes is driver/standing's affair.
//
// Reading the source: command.go, translation.go, module.go, index.go, built.go.
package record
