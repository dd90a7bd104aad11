package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"gnvcc/bench/lab"
)

// everyGPU runs so many suites on each GPU of this machine, with the arguments that this one has:
// those of one GPU share its lock and its part of the cores, all of them take programs from one
// list. What each says is in WORK/logs/suite.GPU.N.
func (s *suite) everyGPU(ctx context.Context, each int, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	listed, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=index",
		"--format=csv,noheader").Output()
	gpus := strings.Fields(string(listed))
	if err != nil || len(gpus) == 0 {
		return fmt.Errorf("-each %d: nvidia-smi lists no GPU: %v", each, err)
	}
	logs := filepath.Join(s.work, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	cores := max(1, runtime.NumCPU()/len(gpus))
	var all sync.WaitGroup
	failed := make([]error, each*len(gpus))
	for i := range failed {
		gpu := gpus[i%len(gpus)]
		last := len(args) - 1 // the folder; of a flag that is given twice the second counts
		argv := append([]string{self}, args[:last]...)
		argv = append(argv, "-each", "0", "-work", s.work, "-gpu", gpu, args[last])
		if first := i % len(gpus) * cores; len(gpus) > 1 && first+cores <= runtime.NumCPU() {
			argv = append([]string{"taskset", "-c", fmt.Sprintf("%d-%d", first, first+cores-1)}, argv...)
		}
		run := lab.Step{Argv: argv, Env: []string{"CUDA_DEVICE_ORDER=PCI_BUS_ID",
			"CUDA_VISIBLE_DEVICES=" + gpu}}
		all.Go(func() {
			_, failed[i] = run.Logged(ctx, logs, "suite",
				fmt.Sprintf("%s.%d", gpu, i/len(gpus)), s.budget+s.limits.run)
		})
	}
	all.Wait()
	return errors.Join(failed...)
}
