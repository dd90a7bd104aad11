// Package record keeps what builds record for later builds, apply and the tuner: the commands, the calls
// of cicc (translations), and what each cubin was made of (assemblies, links).
//
// Callers: driver and driver/stage write it; driver/compile, driver/standing and driver/apply read
// it. driver/standing says which recipe a build takes.
//
// Reading the source: command.go, translation.go, index.go, built.go.
package record
