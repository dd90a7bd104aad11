package main

import (
	"context"
	"fmt"
	"os"

	"gnvcc/driver"
)

// verbs are gnvcc's own commands. Each gets the arguments behind its name and gives the exit code.
var verbs = map[string]func(args []string) int{
	"apply":   apply,
	"ban":     ban,
	"doctor":  doctor,
	"explain": explain,
	"help":    help,
	"pin":     pin,
	"report":  report,
	"stats":   stats,
	"tune":    tune,
	"unban":   unban,
	"unpin":   unpin,
}

// apply runs the recorded compile commands again whose kernels' recipes have changed.
func apply(args []string) int {
	if len(args) > 0 {
		fmt.Fprintln(os.Stderr, "usage: gnvcc apply\nruns again, in place, the compile commands whose kernels are now known to be faster with other recipes")
		return 2
	}
	store, err := openStore()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gnvcc apply:", err)
		return 1
	}
	ctx, stop := ended(context.Background())
	defer stop()
	_, err = driver.Apply(ctx, store, os.Stdout)
	if warning := driver.CcacheWarning(store); warning != "" {
		fmt.Fprintln(os.Stderr, "gnvcc apply:", warning)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gnvcc apply:", err)
		return 1
	}
	return 0
}
