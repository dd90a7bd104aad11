package driver

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"gnvcc/driver/environment"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/driver/toolkit"
)

// The face: gnvcc in nvcc's place. It finds nvcc, keeps the command, and becomes nvcc by exec, with
// three options in front that make nvcc run its steps through gnvcc. It never stays behind as a
// parent: signals, exit codes, job control and the jobserver are nvcc's own affair then.
//
// Where the prefixes could be seen or could do no good, nvcc is run as if we were not there:
// queries, -v (which prints the commands of the steps; CMake reads them), --fdevice-time-trace
// (which times the steps), prefixes of the user's own, links without a step of ours, GNVCC_OFF=1.

// maxDepth is how many faces may stand above each other. Two are usual at most (a chain of
// wrappers, nvcc -run of a program that calls nvcc).
const maxDepth = 12

// Face runs nvcc with the arguments. It returns only when that was not possible, with the exit
// code.
func Face(args []string) int {
	self, err := os.Executable()
	if err != nil {
		self = ""
	}
	env := environment.Read()
	if env.Depth >= maxDepth {
		return complain(
			"gnvcc calls itself %d times over: what it takes for nvcc is gnvcc; set GNVCC_NVCC to the real nvcc", env.Depth)
	}
	kit, err := toolkit.Find(self, env)
	if err != nil {
		return complain("%v", err)
	}
	log := env.Log()
	if log.Warn().Enabled() { // a log is kept
		for _, why := range toolkit.Ignored(env) {
			log.Warn().Str("why", why).Str("nvcc", kit.Nvcc).Msg("a variable is passed by")
		}
	}
	past := toolkit.Passed(env, self, kit.Nvcc)
	argv, settings := []string{kit.Nvcc}, env.Nvccs(past)

	var line *toolcmd.Line // read once
	why := ""
	switch {
	case env.Off:
		why = "GNVCC_OFF is set"
	case self == "":
		why = "gnvcc's own file is not known"
	default:
		line = toolcmd.ReadLine(args, "", env.Get)
		why = aside(line)
	}
	if why == "" {
		p, err := prepare(kit, env, args, line)
		env = p.env
		if err == nil {
			argv, settings = append(argv, p.prefixes...), env.Staged(past, self, p.command)
			log.Debug().Str("nvcc", kit.Nvcc).Strs("args", args).Msg("nvcc with stages")
		} else {
			// Where we step aside for a gnvcc above us, whose prefixes stand in args, its variables
			// stay.
			why, settings = err.Error(), env.Unstaged(past)
			if env.Strict && !errors.Is(err, toolcmd.ErrAside) {
				return complain("%v", err)
			}
		}
	}
	if why != "" {
		log.Debug().Str("nvcc", kit.Nvcc).Strs("args", args).Str("why", why).Msg("nvcc as it is")
	}
	err = syscall.Exec(kit.Nvcc, append(argv, args...), settings)
	if errors.Is(err, syscall.E2BIG) && len(argv) > 1 {
		// Our words made the list too long for the system. Without them it is nvcc's own.
		err = syscall.Exec(kit.Nvcc, append(argv[:1], args...), env.All())
	}
	// a script without #!: sh runs it, as it would have for the user
	if errors.Is(err, syscall.ENOEXEC) {
		err = syscall.Exec("/bin/sh", append([]string{"sh", kit.Nvcc}, args...), env.All())
	}
	return complain("run %s: %v; set GNVCC_NVCC to an nvcc that can be run", kit.Nvcc, err)
}

// prepared is what an nvcc with stages is started with.
type prepared struct {
	env      *environment.Environment // what the stages are to see of this process's
	command  string                   // hash of the command, "" where it is not kept
	prefixes []string                 // options of nvcc
}

// prepare gets everything ready for stages: the store, the command in it, the prefixes. With an
// error there are none.
func prepare(kit toolkit.Toolkit, env *environment.Environment, args []string,
	line *toolcmd.Line) (prepared, error) {
	p := prepared{env: env}
	store, err := env.OpenStore()
	if err != nil {
		return p, fmt.Errorf("%w: %w", err, toolcmd.ErrAside) // no recipes to be had, nothing to be noted
	}
	if noteCcache(store, env) {
		p.env = env.Cached()
	}
	m, err := mannerOf(kit.Nvcc, store, p.env)
	if err != nil {
		return p, err
	}
	if p.command = env.Command; env.Apply == "" { // else it is kept, and this is a changed one
		p.command, err = record.KeepCommand(store, p.env, kit.Nvcc, args, line)
	}
	if err != nil {
		log := env.Log()
		log.Warn().Err(err).Msg("the command is not kept: gnvcc apply will not know it")
		if env.Strict && !errors.Is(err, toolcmd.ErrAside) {
			return p, fmt.Errorf("keep the command: %w", err)
		}
	}
	if env.Apply == "" {
		record.NoteNvcc(store, p.command, m.nvcc)
	}
	p.prefixes = prefixArgs(env, m.Cicc, m.Host && !line.HostPrefix, line.Keeps,
		len(record.Modules(store, p.command)) > 0)
	return p, nil
}

// aside says why a command is to be run without us, "" if it is not.
func aside(l *toolcmd.Line) string {
	switch {
	case l.Query:
		return "a query"
	case l.Shows:
		return "-v or --fdevice-time-trace would show gnvcc's steps"
	case l.Prefix:
		return "the command has prefixes of its own"
	case l.Options != "":
		return "option file: " + l.Options
	case !l.Steps:
		return "no step that gnvcc takes part in"
	}
	return ""
}

// complain says what is wrong with gnvcc's own setup, as nvcc would: it is the only message a user
// gets from us in a build.
func complain(format string, a ...any) int {
	fmt.Fprintf(os.Stderr, "gnvcc: "+format+"\n", a...)
	return 1
}
