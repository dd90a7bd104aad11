package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/toolkit"
	"gnvcc/policy/tuner"
)

// ordered does the order in a file, one kernel's searches for a gnvcc tune --on elsewhere: what came
// of it (decision, evidence, notes) is written to another file, in one step. An order may be done
// twice. Workers are refused where GPU or gnvcc are others than the order's.
func ordered(args []string) int {
	ctx, stop := ended(context.Background())
	defer stop()
	err := errors.New("gnvcc tune --on starts this")
	if len(args) == 2 {
		err = work(ctx, args[0], args[1])
	}
	if err != nil {
		complain("tune", err)
		return 1
	}
	return 0
}

// workMachine is what this machine is to an order. It is a variable for tests.
var workMachine = tuner.ThisMachine

func work(ctx context.Context, file, out string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the order: %w (gnvcc tune --on writes orders, and starts workers "+
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
