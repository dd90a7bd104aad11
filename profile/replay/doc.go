// Package replay does captured launches again in processes of our own, by a small C program
// (source/, embedded in gnvcc and built once by the host compiler, as the agent is), with the agent
// in it: so that a search sees a launch as it would in the program, and a candidate that faults,
// hangs or corrupts costs a process that is nobody's.
//
// Callers: policy/tuner; cmd/gnvcc (captures). The package imports profile and its rooms.
package replay
