package environment

import (
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/rs/zerolog"
)

// An Environment is what the variables of a process's environment say, read once. A
// switch is on where its variable is neither empty nor 0.
type Environment struct {
	Nvcc    string // GNVCC_NVCC: the real nvcc
	Off     bool   // GNVCC_OFF: nvcc itself
	Strict  bool   // GNVCC_STRICT: a failure on our side is an error
	KeepIn  string // GNVCC_KEEP: a folder that gets every file between the steps
	Lock    string // GNVCC_LOCK: a lock file, absolute: builds go by it alone; "0": by none
	Device  string // GNVCC_DEVICE: a part of the name of the GPU that is built for
	Predict bool   // GNVCC_PREDICT: what was predicted is built with, where nothing was decided

	Command string // of a stage: hash of the face's command, an object; "" where it is not kept
	Chain   string // what was run in nvcc's place so far, against finding oneself (driver/toolkit)
	Depth   int    // how many faces stand above
	Shared  bool   // a cache stands above, which gives what is built to others too

	Apply string // in a command that apply runs: its folder (driver/again)
	Reuse bool   // there: what was kept of a tool may be taken in place of running it
	Stop  bool   // there: the command is tried; it ends before the host compiler

	list []string // NAME=value
	log  func() zerolog.Logger
}

// Read reads this process's environment.
func Read() *Environment { return Of(os.Environ()) }

// Of reads an environment from its settings, such as those of a recorded command.
func Of(list []string) *Environment {
	e := &Environment{list: list}
	on := func(name string) bool {
		v := e.Get(name)
		return v != "" && v != "0"
	}
	e.Nvcc, e.Off, e.Strict, e.KeepIn = e.Get(nvcc), on(off), on(strict), e.Get(keepIn)
	e.Lock, e.Device, e.Predict = e.Get(lock), e.Get(device), on(predict)
	e.Command, e.Chain = e.Get(command), e.Get(chain)
	e.Depth, _ = strconv.Atoi(e.Get(depth)) // only a face sets it
	e.Shared = on(cached)
	e.Apply, e.Reuse, e.Stop = e.Get(apply), on(reuse), on(stop)
	e.log = sync.OnceValue(func() zerolog.Logger { return openLog(e.Get(logFile)) })
	return e
}

// Get looks a variable up, "" where it is not set.
func (e *Environment) Get(name string) string {
	value, _ := e.Lookup(name)
	return value
}

// Lookup looks a variable up, and reports whether it is set.
func (e *Environment) Lookup(name string) (string, bool) {
	for _, setting := range e.list {
		if strings.HasPrefix(setting, name) && strings.HasPrefix(setting[len(name):], "=") {
			return setting[len(name)+1:], true
		}
	}
	return "", false
}

// All are the settings as they were read.
func (e *Environment) All() []string { return slices.Clone(e.list) }

// Without are the settings but for some variables.
func (e *Environment) Without(names ...string) []string { return without(e.list, names...) }

// Cached is the environment of a build below a cache, which gives what was built to others too: it
// takes no recipe that was predicted, nor one that is for some files alone.
func (e *Environment) Cached() *Environment { return Of(with(e.Without(predict), cached, "1")) }

// Tool are the settings for a tool of nvcc's: without what the face added.
func (e *Environment) Tool() []string { return e.Without(Stage, command, "GOMAXPROCS") }

// Nvccs are the settings for nvcc as it is. past is what was run in its place so far, this process
// and that nvcc included.
func (e *Environment) Nvccs(past string) []string {
	return with(with(e.list, chain, past), depth, strconv.Itoa(e.Depth+1))
}

// Staged are the settings for an nvcc whose steps run through gnvcc: stage is its file, hash that
// of the command.
func (e *Environment) Staged(past, stage, hash string) []string {
	return with(with(without(e.Nvccs(past), Stage, command), command, hash), Stage, stage)
}

// Unstaged are those for one that was to be staged, which came to nothing.
func (e *Environment) Unstaged(past string) []string {
	return without(e.Nvccs(past), Stage, command)
}

// A Run says of a recorded command how apply runs it again.
type Run struct {
	Recorded []string // the settings that were kept with it
	Dir      string   // its folder
	Hash     string   // its own
	Store    string   // GNVCC_STORE: the store, and those of others
	Folder   string   // where apply and its stages leave their notes
	Stop     bool     // it is tried only
	Nvcc     string   // the real nvcc, "": the recorded one
}

// Again are the settings for a recorded command that apply runs again: the recorded variables, and
// of the present ones those that no compile depends on. Variables by which GCC adds to files of the
// user's are left out; they change no object.
func (e *Environment) Again(r Run) []string {
	env := without(restored(r.Recorded, e.list), chain, depth, off, reuse, stop, apply, command,
		"PWD", "GNVCC_STORE", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES")
	if r.Nvcc != "" {
		env = with(env, nvcc, r.Nvcc)
	}
	how := reuse
	if r.Stop {
		how = stop
	}
	return append(env, "PWD="+r.Dir, "GNVCC_STORE="+r.Store, how+"=1",
		apply+"="+r.Folder, command+"="+r.Hash)
}

// Compile picks the settings that a compile depends on, sorted, so that equal environments are
// equal; but for those that files say (driver/config).
func (e *Environment) Compile() []string {
	var kept []string
	files := strings.Split(e.Get(Filed), ",")
	for _, setting := range e.list {
		if name, _, ok := strings.Cut(setting, "="); ok && isCompileVariable(name) &&
			!slices.Contains(files, name) {
			kept = append(kept, setting)
		}
	}
	sort.Strings(kept)
	return kept
}

// restored puts recorded settings in the place of the present ones that a compile depends on.
func restored(recorded, present []string) []string {
	env := append([]string(nil), recorded...)
	for _, setting := range present {
		if name, _, ok := strings.Cut(setting, "="); ok && !isCompileVariable(name) {
			env = append(env, setting)
		}
	}
	return env
}

// Over returns settings with others put over them.
func Over(list, settings []string) []string {
	for _, s := range settings {
		if name, value, ok := strings.Cut(s, "="); ok {
			list = with(list, name, value)
		}
	}
	return list
}

// with returns the settings with one variable set, every older setting of it removed.
func with(list []string, name, value string) []string {
	return append(without(list, name), name+"="+value)
}

// without returns the settings with some variables removed. The argument is not changed.
func without(list []string, names ...string) []string {
	out := make([]string, 0, len(list)+2)
next:
	for _, setting := range list {
		for _, name := range names {
			if strings.HasPrefix(setting, name) && strings.HasPrefix(setting[len(name):], "=") {
				continue next
			}
		}
		out = append(out, setting)
	}
	return out
}
