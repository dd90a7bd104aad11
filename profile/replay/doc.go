// Package replay does captured launches again in processes of our own, by a small C program
// (source/, embedded in gnvcc and built once by the host compiler, as the agent is), with the agent
// in it: so that a search sees a launch as it would in the program, and a candidate that faults,
// hangs or corrupts memory does no harm to the program.
//
// Files: replay.go a replay, open.go the same for a caller that goes from stop to stop, build.go the replayer, cache.go the L2 cache as a launch finds it,
// standby.go a process that has its context already.
//
// Callers: policy/tuner, judge, compare; cmd/gnvcc. The package imports profile and packages below it.
package replay
