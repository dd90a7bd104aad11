// Package toolcmd reads the command lines of nvcc and of the tools that nvcc runs: cicc, cudafe++,
// the host compiler, ptxas and nvlink. One reader takes a list of words apart (reader.go), by a
// table of the tool's options; each tool has a file with its table and with what is made of the
// words. It runs nothing, and of files it reads nvcc's option files only.
//
// Who may call it: driver, whose stages stand in front of these tools, and which runs recorded
// commands again. It imports nothing of gnvcc's.
//
// A command that is not understood is an error that wraps ErrAside, and is left to the tool as it
// stands.
package toolcmd

import "errors"

// ErrAside is wrapped by what leaves a command to its tool without being a failure of ours: an
// option that is not known, say.
var ErrAside = errors.New("left to the tool")
