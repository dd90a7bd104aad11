package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/driver/record"
)

// readReport reads what `gnvcc report --json` printed.
func readReport(file string) ([]cache.Decision, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	var r struct {
		Kernels []struct{ Decision cache.Decision }
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) { // of before there was a version
		err = json.Unmarshal(text, &r.Kernels)
	} else {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return nil, fmt.Errorf("read the report %s: %w", file, err)
	}
	var all []cache.Decision
	for _, k := range r.Kernels {
		all = append(all, k.Decision)
	}
	return all, nil
}

// openRebuilt opens a store in which gnvcc has built the code of a report again: a compiler on it, and
// its kernels by their identities. remove takes away what is compiled.
func openRebuilt(ctx context.Context, dir string) (c *compile.Compiler,
	built map[string]record.BuiltKernel, remove func(), err error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, nil, nil, errors.New("it was not built here")
	}
	store, err := cache.Open(dir)
	if err == nil {
		err = store.PublishSpooled(ctx)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	scratch, err := os.MkdirTemp("", "gnvcc-rebuilt-")
	if err != nil {
		return nil, nil, nil, err
	}
	remove = func() { os.RemoveAll(scratch) }
	return compile.New(store, scratch), record.BuiltBy(store), remove, nil
}

// errAbsent is for a decision on a kernel that is not among them.
var errAbsent = errors.New("no kernel that was built here is the same")

// heaviestOf is the launch of a decision that takes most time of all, if one takes so many
// nanoseconds.
func heaviestOf(d cache.Decision, least float64) (most cache.Launch, err error) {
	most, ok := d.Evidence.Heaviest()
	switch {
	case !ok:
		err = errors.New("no launch was recorded")
	case most.Before.Median < least:
		err = fmt.Errorf("a launch takes %.1f us", most.Before.Median/1e3)
	}
	return most, err
}
