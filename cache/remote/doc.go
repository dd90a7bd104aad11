// Package remote is what gnvcc push and gnvcc pull carry between machines: measured decisions in
// sixteen shards by identity, with an index that names
// each shard by its hash, and optionally a signature of the index. It reads and writes files;
// cmd/gnvcc-oci does the network, and builds check recipes. Caller: cmd/gnvcc.
//
// One publisher has one tag, since a registry's tags have no compare-and-swap. Whoever reads
// several merges them: of two decisions on one kernel and GPU the measured one stands, then the
// newer, then the one with more evidence (Merge).
//
// Nothing of an artefact is believed: sizes are bounded before anything is read, every hash is
// compared, every line has one form and one place, and an artefact that is wrong in one of these is
// refused altogether. What was pulled before stays.
//
// Reading the source: index.go (the form), sign.go, merge.go, place.go (in the store), blobs.go
// (what travels).
package remote
