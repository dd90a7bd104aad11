// Package profile sees an application's kernel launches as they really happen. Its agent, a small C
// library that the CUDA driver loads into the application (profile/agent, embedded in gnvcc and
// built once by the host compiler), captures launches, times candidates and compares memory; every
// decision is taken here or by the caller, on the other end of a Unix socket.
//
// Callers: cmd/gnvcc runs applications under it; policy decides through [Decider] and measures
// through [Session]. The package imports no other room.
package profile
