package stage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"gnvcc/cache"
	"gnvcc/driver/again"
	"gnvcc/driver/child"
	"gnvcc/driver/environment"
	"gnvcc/driver/toolcmd"
	"gnvcc/driver/toolkit"
)

// A stage is gnvcc in front of one of nvcc's tools: it is called with the tool's command, as nvcc
// would have run it. The way out that is always there is to become the tool (exec): the same
// process, so nothing is left to pass on.

type stage struct {
	name  string   // "cicc", "cudafe", "host", "ptxas", "nvlink"
	words []string // the tool as nvcc calls it, and its arguments
	tool  string   // its path, "" when it is not to be found
	dir   string   // working directory, "" when it is gone

	env     *environment.Environment
	store   *cache.Store // nil: none
	apply   *again.Run   // the run of gnvcc apply that this is part of, nil in an ordinary build
	watch   *child.Watch
	log     zerolog.Logger
	result  *child.Ending                // how the user's own step ended, once it was run
	outcome string                       // for gnvcc doctor --store, where count can't tell by itself
	normals map[string]map[string]string // of the decisions (driver/standing)
	lock    string                       // the lock file that this build goes by, "" for none
	// why launches of the file need many resident blocks (compile.HostResident), "": none does
	allResident string
}

// Run is the stage of a name. It returns only where the process did not become the tool, with the
// exit code.
func Run(name string, words []string) int {
	env := environment.Read()
	log := env.Log()
	s := &stage{name: name, words: words, env: env, log: log.With().Str("stage", name).Logger()}
	s.tool = toolkit.LookPath(words[0], s.env.Get("PATH"))
	s.dir, _ = os.Getwd()
	var take func() error
	switch name {
	case "cicc":
		take = s.cicc
	case "cudafe":
		take = s.cudafe
	case "host":
		take = s.host
	case "ptxas":
		take = s.ptxas
	case "nvlink":
		take = s.nvlink
	}
	if take == nil || s.tool == "" || s.dir == "" || s.env.Off {
		return s.become()
	}
	s.apply = again.Here(env)
	if s.env.Stop {
		if code, done := s.ends(); done {
			return code
		}
	}
	var err error
	s.store, err = env.OpenStore()
	s.watch = child.NewWatch()
	if err != nil {
		err = fmt.Errorf("%w: %w", err, toolcmd.ErrAside)
	} else {
		err = s.guarded(take)
	}
	s.count(err)
	if err != nil {
		aside := errors.Is(err, toolcmd.ErrAside)
		if s.env.Strict && !aside {
			s.watch.Leave(child.Ending{})
			fmt.Fprintf(os.Stderr, "gnvcc: %s stage: %v\n", name, err)
			return 1
		}
		s.log.WithLevel(level(aside)).Err(err).Strs("words", words).Msg("nvcc's own result")
	}
	if s.result == nil {
		s.watch.Leave(child.Ending{})
		return s.become()
	}
	// what added to the store comes here; a process that becomes the tool added little
	s.guarded(s.trim)
	return s.watch.Leave(*s.result)
}

func level(aside bool) zerolog.Level {
	if aside {
		return zerolog.DebugLevel
	}
	return zerolog.WarnLevel
}

// guarded turns a panic of ours into an error: a build is not to end by it.
func (s *stage) guarded(take func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return take()
}

// become makes this process the tool, with what nvcc said and nothing else.
func (s *stage) become() int {
	env := s.env.Tool()
	if s.tool != "" {
		err := syscall.Exec(s.tool, s.words, env)
		s.log.Warn().Err(err).Str("tool", s.tool).Msg("not run")
	}
	// It is not there, or can't be run: the shell that nvcc uses has its own words for that.
	err := syscall.Exec("/bin/sh", append([]string{"sh", "-c", `"$@"`, "sh"}, s.words...), env)
	fmt.Fprintf(os.Stderr, "gnvcc: run %s: %v\n", s.words[0], err)
	return 127
}

// runs the user's own step as a child, with his own files.
func (s *stage) run(t *child.Tee) (child.Ending, error) {
	cmd := &exec.Cmd{Path: s.tool, Args: s.words, Env: s.env.Tool(), Stdin: os.Stdin,
		Stdout: os.Stdout, Stderr: os.Stderr}
	if t != nil {
		cmd.Stdout, cmd.Stderr = t.Outputs()
	}
	start := time.Now()
	e, err := s.watch.Run(cmd, false)
	if err != nil {
		return e, fmt.Errorf("run %s: %w", s.tool, err)
	}
	s.result = &e
	s.log.Debug().Strs("words", s.words).Int("code", e.Code).Dur("took", time.Since(start)).Msg("run")
	return e, nil
}

// readsBack says why what a step is about to write can't be read back: a pipe would be waited for
// without an end, or read in its reader's place, and /dev/null has nothing; nor may it go where the
// step's messages go.
func readsBack(output string) error {
	there, err := os.Stat(output)
	if err != nil {
		return nil // it is made, or the tool has its own words for why not
	}
	odd := !there.Mode().IsRegular()
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		stream, err := f.Stat()
		odd = odd || err == nil && os.SameFile(there, stream)
	}
	if odd {
		return fmt.Errorf("the output %q is no file of its own: %w", output, toolcmd.ErrAside)
	}
	return nil
}

// group is the folder in GNVCC_KEEP for what belongs to one input.
func (s *stage) group(in, hash string) string {
	base := in[strings.LastIndexByte(in, '/')+1:]
	return s.name + "-" + base + "-" + hash[:12]
}

// Word begins the word that makes gnvcc a stage; the step's name follows. No file of a user's is
// called so.
const Word = "gnvcc-stage:"

// Ignored is an option of nvlink's that it takes and ignores, whatever its value is; no cubin shows
// it (11.8 to 13.5). nvlink's prefix stands in its value where nvlink reads it (driver/prefix.go),
// and the stage's arguments begin with it.
const Ignored = "--host-linker-options="

// Of reports whether a command line (without argv[0]) is that of a stage, and of which.
func Of(args []string) (step string, rest []string, ok bool) {
	if len(args) >= 2 {
		if step, ok = strings.CutPrefix(args[0], Word); ok {
			rest = args[1:]
			if step == "nvlink" && rest[0] == Ignored+`"` {
				rest = rest[1:]
				if len(rest) == 0 || rest[0] != step { // its word stood in front of the prefix
					rest = append([]string{step}, rest...)
				}
			}
			return step, rest, true
		}
	}
	return "", nil, false
}
