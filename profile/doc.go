// Package profile observes an application's kernel launches. Its agent, a small C
// library that the CUDA driver loads into the application (profile/agent, embedded in gnvcc and
// built once by the host compiler), counts, times and captures launches, and in a replay times
// candidates and compares memory; every decision is taken by a [Host], on the other end of a Unix
// socket.
//
// Callers: profile/capture observes programs, profile/replay replays launches; policy measures
// through [Session].
//
// Files: run.go the program with the agent in it, process.go one process of it, frame.go what is sent to
// and fro, launch.go and session.go what a caller sees, sets.go argument values, class.go launches by time, between.go what is in no kernel, rank.go ranks of MPI,
// cubin.go what must be known of a cubin.
package profile
