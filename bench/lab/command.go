package lab

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// Main runs a program with the command line's arguments, until it ends or somebody interrupts it,
// and ends the process with 1 where it failed.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, name+":", err)
		stop()
		os.Exit(1)
	}
}

// A Verb is one of the things that a program does.
type Verb struct {
	Name string
	Run  func(ctx context.Context, args []string) error
}

// Verbs runs the one that the first argument names.
func Verbs(program string, verbs ...Verb) {
	Main(program, func(ctx context.Context, args []string) error {
		var names []string
		for _, v := range verbs {
			if len(args) > 0 && v.Name == args[0] {
				return v.Run(ctx, args[1:])
			}
			names = append(names, v.Name)
		}
		return fmt.Errorf("what is to be done? %s (with -h for its flags)", strings.Join(names, ", "))
	})
}

// A List is a flag that may be given several times.
type List []string

func (l *List) String() string { return strings.Join(*l, " ") }

// Set adds one value.
func (l *List) Set(s string) error { *l = append(*l, s); return nil }

// Variables checks that each value is a make variable, NAME=VALUE, as the flag -set takes them.
func (l List) Variables() error {
	for _, v := range l {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return fmt.Errorf("-set %q: NAME=VALUE", v)
		}
	}
	return nil
}

// Work makes the folder that a flag -work names, "" for a temporary one, which remove takes away
// again. Makefiles are to use it, and gnvcc's path.
func Work(folder, name, gnvcc string) (path string, remove func(), err error) {
	remove = func() {}
	if folder == "" {
		if folder, err = os.MkdirTemp("", "gnvcc-"+name+"-"); err != nil {
			return "", remove, err
		}
		made := folder
		remove = func() { os.RemoveAll(made) }
	}
	if path, err = filepath.Abs(folder); err != nil {
		return "", remove, err
	}
	if strings.ContainsAny(path+gnvcc, " \t'\"$") {
		return "", remove, fmt.Errorf(
			"-work %q, -gnvcc %q: Makefiles can't use a path with spaces or quotes", path, gnvcc)
	}
	return path, remove, os.MkdirAll(path, 0o755)
}

// Tools replaces each name, a path or one that PATH has, by its absolute path.
func Tools(names ...*string) error {
	for _, name := range names {
		path, err := exec.LookPath(*name)
		if err != nil {
			return fmt.Errorf("%s is no program that can be run: %w", *name, err)
		}
		if *name, err = filepath.Abs(path); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON keeps raw results as JSON; path "" means none.
func WriteJSON(path string, raw any) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(raw, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
