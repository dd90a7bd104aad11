package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/toolkit"
	"gnvcc/policy/tuner"
)

// workVerb does an order: one kernel's searches, for a gnvcc replay --on elsewhere.
func workVerb() *cobra.Command {
	c := newVerb("work ORDER -o FILE",
		"search on one kernel, as gnvcc replay --on or tune --on has ordered",
		`Does what is written in the file ORDER, which gnvcc replay --on has made: the searches and checks of one kernel on captured
launches. What came of it (decision, evidence, notes) is written to FILE, in one step; nothing is decided in a store. An order may
be done twice. Workers are refused where GPU or gnvcc are others than the order's.`, arguments(1, 1))
	out := c.Flags().StringP("output", "o", "", "write what came of it to this `file`")
	return tries(c, 1, func(args []string) error {
		if *out == "" {
			return errors.New("where to? -o FILE")
		}
		ctx, stop := ended(context.Background())
		defer stop()
		return work(ctx, args[0], *out)
	})
}

// workMachine is what this machine is to an order. It is a variable for tests.
var workMachine = tuner.ThisMachine

func work(ctx context.Context, file, out string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the order: %w (gnvcc replay --on writes orders, and starts gnvcc work "+
			"on each)", err)
	}
	if err := cache.WriteFile(filepath.Dir(out), filepath.Base(out)+tuner.Begun, nil); err != nil {
		return fmt.Errorf("write what came of the order: %w", err)
	}
	if !driverHere() {
		host, _ := os.Hostname()
		return fmt.Errorf("%w: %s has no NVIDIA driver", tuner.ErrUnfit, host)
	}
	store, err := openStore()
	if err != nil {
		return err
	}
	self, _ := os.Executable()
	tools, err := toolkit.Find(self, environment.Read())
	if err != nil {
		return err
	}
	w := tuner.Worker{Store: store, Tools: tools, GPU: gpu, Machine: workMachine(),
		Version: ownVersion()}
	did, err := w.Do(ctx, text)
	if err != nil {
		return err
	}
	answer, err := json.Marshal(did)
	if err == nil {
		err = cache.WriteFile(filepath.Dir(out), filepath.Base(out), answer)
	}
	if err != nil {
		return fmt.Errorf("write what came of the order: %w", err)
	}
	return nil
}
