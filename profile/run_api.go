package profile

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// Options say what to run and how.
type Options struct {
	Argv  []string                         // the application and its arguments
	Dir   string                           // working directory, "" for ours
	Env   []string                         // its environment; nil for ours
	Agent string                           // the built agent (profile/agent.Build)
	Limit time.Duration                    // longest time for one run of one candidate (default 60 s)
	Log   func(format string, args ...any) // protocol trouble and what the agent notes; nil: dropped
}

// An Exit is how the application ended.
type Exit struct {
	Code   int            // exit code; 128+n where a signal ended it
	Signal syscall.Signal // 0: none
	Killed string         // why Run ended it ("" when it ended by itself)
}

// Run runs an application with the agent in it. Its stdin, stdout and stderr are ours.
func Run(ctx context.Context, o Options, h Host) (Exit, error) { return Exit{}, errors.New("not yet") }
