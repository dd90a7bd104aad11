// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/cache/lock"
	"gnvcc/cache/remote"
	"gnvcc/driver/standing"
	"gnvcc/policy/compare"
	"gnvcc/profile/capture"
)

const benchAbout = `Builds the captured kernels of this folder as a build would now, with their recipes, and replays their launches. With --against
they are compared with an earlier run (a file that -o wrote), or with what a lock file says that recipes gain.

Exit code 0: nothing lost; 1: a kernel takes more time than before, beyond both intervals and 3 %, or its recipe leaves other
bits or can't be carried out any more; 2: something went wrong, or nothing could be compared.`

// A benching is how a run of the suite is asked for.
type benching struct {
	against, out, captures string
	all, json, markdown    bool
}

// benchVerb takes captures as a regression suite.
func benchVerb() *cobra.Command {
	c := newVerb("bench", "captured launches as a regression suite: has a kernel become slower?",
		benchAbout, none)
	fs := c.Flags()
	var r benching
	fs.StringVar(&r.against, "against", "", "compare with this `file`: a baseline that -o wrote, or a lock file")
	fs.StringVarP(&r.out, "output", "o", "", "write this run as a baseline to a `file`")
	fs.StringVar(&r.captures, "captures", "", capturesUsage)
	fs.BoolVar(&r.all, "all", false, "everything in the store, whatever folder it was built in")
	fs.BoolVar(&r.json, "json", false, "as JSON")
	fs.BoolVar(&r.markdown, "markdown", false, "as a Markdown table, for a pull request")
	oneOf(c, "json", "markdown")
	return onStore(c, 2, func(ctx context.Context, store *cache.Store, _ []string) error {
		return r.run(ctx, store)
	})
}

func (r benching) run(ctx context.Context, store *cache.Store) error {
	old, lines, err := readBaseline(r.against)
	if err != nil {
		return err
	}
	if !driverHere() {
		return errors.New("no NVIDIA driver here: nothing was run (gnvcc compare looks at machine code without one)")
	}
	a := compare.Ask{Store: store, Progress: progressLine}
	if r.captures != "" {
		if a.Captures, err = openCaptures(store, r.captures); err != nil {
			return err
		}
	}
	if !r.all {
		here, err := folderOf([]string{"."})
		if err != nil {
			return err
		}
		a.Folders = []string{here}
	}
	got, err := compare.Suite(ctx, a, func() (*compare.Bench, error) {
		b, err := newBench(ctx, store)
		if err == nil && a.Captures != nil {
			b.Captures = a.Captures
		}
		return b, err
	})
	progressLine("")
	if err != nil {
		return err
	}
	switch {
	case old != nil:
		err = got.Against(old)
	case lines != nil:
		err = got.AgainstLock(lines)
	}
	if err != nil {
		return err
	}
	if r.out != "" {
		text, err := formatted("bench", got)
		if err == nil {
			err = cache.WriteFile(filepath.Dir(r.out), filepath.Base(r.out), text)
		}
		if err != nil {
			return fmt.Errorf("write the baseline: %w", err)
		}
	}
	if err := r.tell(got); err != nil {
		return err
	}
	if got.Losses > 0 {
		return exit(1)
	}
	return nil
}

func (r benching) tell(b *compare.Baseline) error {
	switch {
	case r.json:
		return tellJSON("bench", b)
	case r.markdown:
		return b.Markdown(console)
	}
	return b.Print(stdout())
}

const capturesUsage = "replay the captures in this `folder`, or that gnvcc pull --captures brought under this name, not the store's"

// openCaptures opens captures that somebody else made: a folder, or what was pulled under a name.
func openCaptures(store *cache.Store, word string) (*capture.Store, error) {
	folder, err := filepath.Abs(word)
	if err != nil {
		return nil, err
	}
	name := word
	if in, err := filepath.Rel(store.RemotesDir(), folder); err == nil && filepath.IsLocal(in) {
		name, _, _ = strings.Cut(in, "/") // its last day may have passed
	} else if _, err := os.Stat(filepath.Join(folder, "launches")); err == nil {
		return capture.Open(folder)
	}
	if strings.Contains(name, "/") {
		return nil, fmt.Errorf("%s is no folder of captures", word)
	}
	if folder, err = remote.Captures(store, name); err != nil {
		return nil, fmt.Errorf("%s is no folder of captures: %w", word, err)
	}
	return capture.Open(folder)
}

// readBaseline reads what a run is to be compared with: one of the two, neither without a file.
func readBaseline(file string) (*compare.Baseline, []lock.Line, error) {
	if file == "" {
		return nil, nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read the baseline: %w", err)
	}
	if lock.Is(text) {
		lines, err := standing.ParseLock(text)
		if err != nil {
			return nil, nil, fmt.Errorf("read the lock file %s: %w", file, err)
		}
		return nil, append([]lock.Line{}, lines...), nil
	}
	var head struct {
		Format  string
		Version int
	}
	old := new(compare.Baseline)
	err = json.Unmarshal(text, &head)
	if err == nil {
		err = json.Unmarshal(text, old)
	}
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read %s: neither a baseline nor a lock file: %w", file, err)
	case head.Format != "gnvcc-bench" || head.Version != formats["bench"]:
		return nil, nil, fmt.Errorf("%s is %q, version %d, and no baseline that this gnvcc reads", file,
			head.Format, head.Version)
	}
	return old, nil, nil
}
