package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/foretell"
	"gnvcc/profile/units"
)

// predictVerb ranks builds of kernels from their machine code, without a GPU.
func predictVerb() *cobra.Command {
	c := newVerb("predict [KERNEL]", "what limits kernels, and which register caps to measure first; needs no GPU",
		"What limits the kernels that were built, and which register caps are worth a measurement, read from their machine\n"+
			"code. Nothing is run, nothing adopted: gnvcc tune measures. KERNEL is a part of the name, or a regular expression.", cobra.MaximumNArgs(1))
	return runs(c, func(args []string) int { return predict(strings.Join(args, "")) })
}

func predict(kernel string) int {
	name, err := regexp.Compile(kernel)
	if err != nil {
		return complain("predict", err)
	}
	n, err := foretold(context.Background(), name)
	if err != nil {
		return complain("predict", err)
	}
	if n == 0 {
		fmt.Println("no such kernel is known yet: build a program with gnvcc")
	}
	return 0
}

// foretold prints what can be foretold of the kernels of a name, and says how many there are.
func foretold(ctx context.Context, name *regexp.Regexp) (n int, err error) {
	book, err := newBook(ctx)
	if err != nil {
		return 0, err
	}
	store := book.store
	c, err := newCompiler(store)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	assemblies, err := built(store)
	if err != nil {
		return 0, err
	}
	all, _, err := decided()
	if err != nil {
		return 0, err
	}
	byIdentity := map[string]*cache.Decision{}
	for i := range all {
		byIdentity[all[i].Identity] = &all[i]
	}
	machine := machineOf(store)
	seen := map[string]bool{}
	for _, a := range assemblies {
		for _, k := range a.Kernels {
			short := policy.ShortName(k.Name)
			if k.Identity == "" || seen[k.Identity] || !name.MatchString(k.Name) && !name.MatchString(short) {
				continue
			}
			seen[k.Identity] = true
			if n++; n > 1 {
				fmt.Println()
			}
			if err := foretellOne(ctx, c, a, k, byIdentity[k.Identity], machine); err != nil {
				fmt.Printf("%s (%s): nothing can be foretold: %v\n", short, a.Target, err)
			}
		}
	}
	return n, nil
}

func foretellOne(ctx context.Context, c policy.Compiler, a cache.Assembly, k cache.Kernel, d *cache.Decision, m *units.Machine) error {
	known, err := c.Kernel(a.Cubin, k.Name)
	if err != nil {
		return err
	}
	if known.Alone != "" {
		return errors.New(known.Alone)
	}
	seen, err := foretell.Look(ctx, c, known, d, m)
	if err != nil {
		return err
	}
	return seen.Print(os.Stdout)
}

// machineKey finds what doctor -measure found out about this machine's GPU.
const machineKey = "machine 1"

// machineOf is what was measured last, nil where nothing was.
func machineOf(store *cache.Store) *units.Machine {
	text, ok := memos{store}.Recall(machineKey)
	if !ok {
		return nil
	}
	var m units.Machine
	if json.Unmarshal(text, &m) != nil {
		return nil
	}
	return &m
}

// keepMachine keeps what was measured, for predictions.
func keepMachine(m *units.Machine) error {
	store, err := openStore()
	if err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return memos{store}.Remember(machineKey, text)
}
