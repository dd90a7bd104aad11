package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy/tuner"
)

// openStore opens the user's store.
func openStore() (*cache.Store, error) {
	dir, err := cache.Dir()
	if err != nil {
		return nil, err
	}
	return cache.Open(dir)
}

// openDecisions opens the user's store, up to date with what builds have noted.
func openDecisions(ctx context.Context) (*tuner.Decisions, error) {
	store, err := openStore()
	if err != nil {
		return nil, err
	}
	return tuner.OpenDecisions(ctx, store)
}

// complain prints what went wrong, and gives the exit code for it.
func complain(verb string, err error) int {
	fmt.Fprintf(os.Stderr, "gnvcc %s: %v\n", verb, err)
	var known *cache.Error
	if errors.As(err, &known) && known.Advice != "" && !strings.Contains(err.Error(), known.Advice) {
		fmt.Fprintln(os.Stderr, "  ", known.Advice)
	}
	return 2
}
