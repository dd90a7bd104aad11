package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("the registry did not answer in time: %w", err)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("gnvcc-oci", flag.ContinueOnError)
	timeout := fs.Duration("timeout", time.Minute, "for all of it")
	if err := fs.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	args = fs.Args()
	if len(args) < 3 {
		return errors.New("gnvcc-oci is run by gnvcc push and gnvcc pull: use these")
	}
	r, err := open(args[1])
	switch {
	case err != nil:
		return err
	case args[0] == "push" && len(args) == 5:
		return r.push(ctx, args[2], args[3], args[4])
	}
	return r.pull(ctx, args[2], args[0] == "pull")
}
