package environment

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/rs/zerolog"

	"gnvcc/cache"
)

// What was done and why not goes to the file that GNVCC_LOG names, one JSON object a line, appended
// in one write, so that many processes may share it. Without GNVCC_LOG nothing is written: a
// wrapper has no words of its own.

// Log is that of GNVCC_LOG.
func (e *Environment) Log() zerolog.Logger { return e.log() }

func openLog(path string) zerolog.Logger {
	if path == "" {
		return zerolog.Nop()
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return zerolog.Nop() // a log that can't be written is no reason to speak up in a build
	}
	// A log that can't be written on (full disk, limit on file sizes): zerolog would tell stderr,
	// which is the build's.
	zerolog.ErrorHandler = func(error) {}
	return zerolog.New(f).With().Timestamp().Int("pid", os.Getpid()).Logger()
}

// Keep copies a file between the steps to the folder that GNVCC_KEEP names, if it names one.
// Failures are logged: who looks for the file will look there.
func (e *Environment) Keep(group, name string, content []byte) {
	if e.KeepIn == "" {
		return
	}
	dir := filepath.Join(e.KeepIn, group)
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, FileName(name)), content, 0o666)
	}
	if err != nil {
		log := e.Log()
		log.Warn().Err(err).Str("file", name).Msg("not kept")
	}
}

// maxFileName is what Linux takes, bytes (limits.h, NAME_MAX). CUTLASS' kernels have names of some
// thousand.
const maxFileName = 255

// FileName makes a file's name of one that may hold a kernel's: nothing that leads elsewhere, and
// not too long; a hash stands for what is cut off, and the extension stays.
func FileName(name string) string {
	name = filepath.Base(name)
	if len(name) <= maxFileName {
		return name
	}
	end := "~" + cache.Hash([]byte(name))[:8]
	if ext := filepath.Ext(name); len(ext) <= 8 {
		end += ext
	}
	return name[:maxFileName-len(end)] + end
}

// KeepWords copies a command.
func (e *Environment) KeepWords(group, name string, words []string) {
	if e.KeepIn == "" {
		return
	}
	var text []byte
	for _, w := range words {
		text = append(strconv.AppendQuote(text, w), '\n')
	}
	e.Keep(group, name, text)
}
