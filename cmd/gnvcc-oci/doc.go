// Command gnvcc-oci copies artefacts between a folder and an OCI registry, for gnvcc push and gnvcc
// pull, which start it and judge what it brings.
//
// It is a program of its own so that gnvcc has no network in it: gnvcc starts several times in
// every compile, and what HTTP, TLS and a registry's client do at the start of a process would cost
// each of these about a millisecond (measured: 1.2, 1.7 and 2.3 ms for a program with nothing, with
// net/http, and with oras-go, at the least of 300 starts). So no build can wait for a registry
// either, whatever its arguments are (TestNoNetwork in cmd/gnvcc).
//
// Reading the source: main.go (its two commands), copy.go (what they do), registry.go (a repository,
// with the credentials of docker and podman).
package main
