// Package capture keeps launches that were captured in a program: the file that the agent writes
// and the replayer reads, its contents in a store of chunks by content, and the host that chooses
// which launches of a run to capture.
//
// Callers: cmd/gnvcc collects, lists, drops and exports; profile/replay does captured launches
// again. The package imports profile alone.
package capture
