// Package profiletest is the simulated GPU of all tests: a profile.Session whose launches take the
// times, and leave the memory, that a test says. It says nothing about real kernels.
package profiletest
