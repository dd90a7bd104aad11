package main

// version is set by the linker (see the Makefile): git describe.
var version = "unknown"
