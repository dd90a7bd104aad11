package driver

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/rs/zerolog"
)

// What was done and why not goes to the file that GNVCC_LOG names, one JSON object a line, appended in one write, so
// that many processes may share it. Without GNVCC_LOG nothing is written: a wrapper has no words of its own.

var logger = sync.OnceValue(func() zerolog.Logger {
	path := os.Getenv(varLog)
	if path == "" {
		return zerolog.Nop()
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return zerolog.Nop() // a log that can't be written is no reason to speak up in a build
	}
	// A log that can't be written on (full disk, limit on file sizes): zerolog would tell stderr, which is the build's.
	zerolog.ErrorHandler = func(error) {}
	return zerolog.New(f).With().Timestamp().Int("pid", os.Getpid()).Logger()
})

// keep copies a file between the steps to the folder that GNVCC_KEEP names, if it names one. Failures are logged: who looks for the
// file will look there.
func keep(group, name string, content []byte) {
	dir := os.Getenv(varKeep)
	if dir == "" {
		return
	}
	dir = filepath.Join(dir, group)
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), content, 0o666)
	}
	if err != nil {
		log := logger()
		log.Warn().Err(err).Str("file", name).Msg("not kept")
	}
}

// keepWords copies a command.
func keepWords(group, name string, words []string) {
	if os.Getenv(varKeep) == "" {
		return
	}
	var text []byte
	for _, w := range words {
		text = append(strconv.AppendQuote(text, w), '\n')
	}
	keep(group, name, text)
}
