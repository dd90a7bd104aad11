package driver

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"gnvcc/driver/environment"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/driver/toolkit"
)

// The face: gnvcc in nvcc's place. It finds nvcc, keeps the command, and becomes nvcc by exec, with three options in front that make
// nvcc run its steps through gnvcc. It never stays behind as a parent: signals, exit codes, job control and the
// jobserver are nvcc's own affair then.
//
// Where the prefixes could be seen or could do no good, nvcc is run as if we were not there: queries, -v (which prints the
// commands of the steps; CMake reads them), prefixes of the user's own, links without a step of ours, GNVCC_OFF=1.

// Face runs nvcc with the arguments. It returns only when that was not possible, with the exit code.
func Face(args []string) int {
	self, err := os.Executable()
	if err != nil {
		self = ""
	}
	past := toolkit.NewChain(os.Getenv(environment.Chain))
	depth, _ := strconv.Atoi(os.Getenv(environment.Depth))
	if depth >= toolkit.MaxDepth {
		return complain("%d gnvcc stand above each other: what is taken for nvcc calls gnvcc again; set GNVCC_NVCC to the real nvcc", depth)
	}
	kit, err := toolkit.FindPast(self, os.Getenv, past)
	if err != nil {
		return complain("%v", err)
	}
	log := environment.Log()
	argv := []string{kit.Nvcc}
	env := environment.With(os.Environ(), environment.Chain, past.Add(self, kit.Nvcc).String())
	env = environment.With(env, environment.Depth, strconv.Itoa(depth+1))

	var line *toolcmd.Line // read once
	why := switched(self)
	if why == "" {
		line = toolcmd.ReadLine(args, "", os.Getenv)
		why = aside(line)
	}
	if why == "" {
		// Where we step aside for a gnvcc above us, whose prefixes stand in args, they are its: its stages need them.
		env = environment.Without(env, environment.StageFile, environment.Command)
		var more []string
		if more, err = prepare(kit, args, line, &env); err == nil {
			env = environment.With(env, environment.StageFile, self)
			argv = append(argv, more...)
			log.Debug().Str("nvcc", kit.Nvcc).Strs("args", args).Msg("nvcc with stages")
		} else {
			why = err.Error()
			if environment.On(environment.Strict) && !errors.Is(err, toolcmd.ErrAside) {
				return complain("%v", err)
			}
		}
	}
	if why != "" {
		log.Debug().Str("nvcc", kit.Nvcc).Strs("args", args).Str("why", why).Msg("nvcc as it is")
	}
	err = syscall.Exec(kit.Nvcc, append(argv, args...), env)
	if errors.Is(err, syscall.E2BIG) && len(argv) > 1 {
		// Our words made the list too long for the system. Without them it is nvcc's own.
		err = syscall.Exec(kit.Nvcc, append(argv[:1], args...), os.Environ())
	}
	if errors.Is(err, syscall.ENOEXEC) { // a script without #!: sh runs it, as it would have for the user
		err = syscall.Exec("/bin/sh", append([]string{"sh", kit.Nvcc}, args...), os.Environ())
	}
	return complain("run %s: %v; set GNVCC_NVCC to an nvcc that can be run", kit.Nvcc, err)
}

// prepare gets everything ready for stages: the store, the command in it, the prefixes. With an error there are none.
func prepare(kit toolkit.Toolkit, args []string, line *toolcmd.Line, env *[]string) ([]string, error) {
	store := environment.OpenStore()
	if store == nil {
		return nil, fmt.Errorf("%w: %w", environment.ErrNoStore, toolcmd.ErrAside) // no recipes to be had, nothing to be noted
	}
	if noteCcache(store) {
		os.Unsetenv(environment.Predict)
		*env = environment.Without(*env, environment.Predict)
	}
	m, err := mannerOf(kit.Nvcc, store)
	if err != nil {
		return nil, err
	}
	if !m.Takes {
		return nil, fmt.Errorf("%s does not take prefixes as we know it: %w", kit.Nvcc, toolcmd.ErrAside)
	}
	command := os.Getenv(environment.Command)
	if os.Getenv(environment.Apply) == "" { // else it is kept, and this is a changed one
		command, err = record.KeepCommand(store, kit.Nvcc, args, line)
	}
	if err != nil {
		log := environment.Log()
		log.Warn().Err(err).Msg("the command is not kept: gnvcc apply will not know it")
		if environment.On(environment.Strict) && !errors.Is(err, toolcmd.ErrAside) {
			return nil, fmt.Errorf("keep the command: %w", err)
		}
	}
	*env = environment.With(*env, environment.Command, command)
	return prefixArgs(m.Cicc, m.Host && !line.HostPrefix), nil
}

// switched tells why nvcc is to be run without us whatever the command is, "" if it is not.
func switched(self string) string {
	switch {
	case environment.On(environment.Off):
		return "GNVCC_OFF is set"
	case self == "":
		return "gnvcc's own file is not known"
	}
	return ""
}

// aside tells why a command is to be run without us, "" if it is not.
func aside(l *toolcmd.Line) string {
	switch {
	case l.Query:
		return "a query"
	case l.Shows:
		return "-v would show the prefixes"
	case l.Prefix:
		return "the command has prefixes of its own"
	case l.Options != "":
		return "option file: " + l.Options
	case !l.Steps:
		return "no step of ours"
	}
	return ""
}

// complain says what is wrong with gnvcc's own setup, as nvcc would: it is the only message a user gets from us in a build.
func complain(format string, a ...any) int {
	fmt.Fprintf(os.Stderr, "gnvcc: "+format+"\n", a...)
	return 1
}
