package main

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/bench/lab"
	"gnvcc/sim"
	"gnvcc/sim/predict"
)

// rowsOn is the architecture of the GPUs that rows were measured on so far: H200.
const rowsOn = 90

// read gives the kernels of files of rows, with commas between; of registers alone: those that
// have a recipe for registers, with no others.
func read(files string, registers bool) ([]kernel, error) {
	device, _ := sim.Lookup(rowsOn)
	var out []kernel
	for _, file := range strings.Split(files, ",") {
		count := 0
		all, err := lab.ReadLines(file, func(line) string { count++; return fmt.Sprint(count) })
		if err != nil {
			return nil, err
		}
		if len(all) == 0 || all[0].Recipe != "" {
			return nil, fmt.Errorf("%s: rows of kernels, each beginning with its default, were expected", file)
		}
		base := all[0]
		for _, l := range all {
			if l.Recipe == "" {
				base = l
				out = append(out, kernel{program: l.Program, name: l.Kernel, device: l.Device,
					dynamic: l.Launch[1]})
			}
			k := &out[len(out)-1]
			if registers && l.Recipe != "" && !onRegisters(l.Recipe) {
				k.left++
				continue
			}
			t := trial{recipe: l.Recipe, ratio: l.Ratio, ranked: predict.Ranked{Recipe: l.Recipe,
				Time: l.Ours, Registers: l.Registers, More: l.Spills > base.Spills+0.5,
				Stacks: l.Stacks}, paper: l.Paper}
			t.run = predict.Run{Registers: l.Registers, Device: device,
				Shape: sim.Shape{Threads: l.Launch[0], Shared: l.Launch[1], Blocks: l.Launch[2]}}
			t.estimate.Occupancy.Warps = l.Warps
			k.trials = append(k.trials, t)
		}
	}
	kept := out[:0]
	for _, k := range out {
		if len(k.trials) > 1 {
			kept = append(kept, k)
		}
	}
	return kept, nil
}

// onRegisters reports a recipe that only says where a thread's values are kept: in how many
// registers, and where the others go. These are read from machine code alone. Recorded recipes may
// have levers that are gone, so that they are read as text. The default is none.
func onRegisters(recipe string) bool {
	terms := strings.Fields(recipe)
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(term string) bool {
		lever := term[:max(0, strings.IndexAny(term, "=@{"))]
		// recorded rows have demote=spill under the name that it had then, smemspill
		return !slices.Contains([]string{"maxnreg", "demote", "smemspill"}, lever) &&
			!strings.HasPrefix(term, "spec{host(")
	})
}
