// Package tunertest is a GPU made up, for tests of what tunes: what it is given are real cubins,
// made by the real compiler, and how long they take is a formula of their machine code. It says
// nothing about real kernels; it says which candidates were measured.
package tunertest
