// Package profile observes an application's kernel launches. Its agent, a small C
// library that the CUDA driver loads into the application (profile/agent, embedded in gnvcc and
// built once by the host compiler), counts, times and captures launches, and in a replay times
// candidates and compares memory; every decision is taken by a [Host], on the other end of a Unix
// socket.
//
// Callers: profile/capture observes programs, profile/replay replays launches; policy measures
// through [Session].
package profile
