package command

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

// Main runs a program with the command line's arguments, until it ends or somebody interrupts it, and ends the process
// with 1 where it failed.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, name+":", err)
		stop()
		os.Exit(1)
	}
}

// A List is a flag that may be given several times.
type List []string

func (l *List) String() string { return strings.Join(*l, " ") }

// Set adds one value.
func (l *List) Set(s string) error { *l = append(*l, s); return nil }

// Programs replaces each name, a path or one that PATH has, by its absolute path.
func Programs(names ...*string) error {
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

// Write keeps raw results as JSON; path "" means that nobody wants them.
func Write(path string, raw any) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(raw, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
