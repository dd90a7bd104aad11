// Command packages makes what make dist leaves out of two static programs: for each machine a tarball
// and a Python wheel. Times, owners and orders are fixed, so that two runs on one commit give the same
// bytes.
//
// Reading the source: main.go what is in a package, linked.go the documents, wheel.go.
package main
