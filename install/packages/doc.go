// Command packages makes what make dist leaves out of two static programs: for each machine a
// tarball, a Python wheel, a .deb and an .rpm. Times, owners and orders are fixed, so that two runs
// on one commit give the same bytes.
//
// It is a module of its own, so that gnvcc does not depend on the library that writes .rpm files.
//
// Reading the source: main.go what is in a package, linked.go the documents, wheel.go, system.go.
package main
