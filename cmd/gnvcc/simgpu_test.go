package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gnvcc/policy"
	"gnvcc/policy/tuner"
	"gnvcc/policy/tuner/tunertest"
	"gnvcc/profile/capture"
)

// A SIMULATED GPU (package tunertest) behind gnvcc tune's replays.

// asIfGPU is a variable that puts the simulated GPU behind the command under test. Its value is a
// file, to which each candidate that is measured is written: the kernel, and a hash of the
// candidate's code.
const asIfGPU = "TEST_SIMULATED_GPU"

// launchesMadeUp is a variable that lets gnvcc tune -- PROGRAM run nothing, and keep made up
// launches of the program's kernels.
const launchesMadeUp = "TEST_LAUNCHES_MADE_UP"

// simulateGPU does so.
func simulateGPU(file string) {
	driverHere = func() bool {
		none := os.Getenv("TEST_NO_GPU")
		return none == "" || none == "but workers" && isWorker()
	}
	watchMachine.HasDriver = driverHere
	if device, driver, ok := strings.Cut(os.Getenv("TEST_WORKER"), "/"); ok {
		workMachine = func() tuner.WorkMachine {
			return tuner.WorkMachine{Device: device, Driver: driver}
		}
	}
	if os.Getenv(launchesMadeUp) != "" && os.Args[1] == "tune" {
		program, err := filepath.Abs(os.Args[len(os.Args)-1])
		if err == nil {
			err = keepLaunches(os.Getenv("GNVCC_NVCC"), os.Getenv("GNVCC_STORE"), program, 1)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	watchMachine.Load = func() (int, bool) { return 0, true }
	watchMachine.Device = func() string { return os.Getenv("TEST_DEVICE") }
	watchMachine.Driver = func() string { return os.Getenv("TEST_DRIVER") }
	watchTools = func() (string, string, error) { return "", "", nil }
	badWorker()
	gpu = tunertest.GPU{Captures: func() (*capture.Store, error) {
		return capture.Open(filepath.Join(os.Getenv("GNVCC_STORE"), "captures"))
	}, Takes: takes(file + ".takes"), Leaves: func(code string) bool {
		_, err := os.Stat(file + ".other." + code)
		return err == nil
	}, Measured: func(kernel, code string) {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, kernel, code)
			f.Close()
		}
	}}
	if levers := os.Getenv("TEST_LEVERS"); levers != "" {
		watchSearch = func(o *policy.Options) { o.Levers = strings.Split(levers, ",") }
	}
	if dir := os.Getenv("TEST_POWER_SUPPLY"); dir != "" {
		watchMachine.PowerSupply = dir
	}
	if file := os.Getenv("TEST_GPU_LOAD"); file != "" {
		watchMachine.Load = func() (n int, known bool) {
			text, _ := os.ReadFile(file)
			fmt.Sscan(string(text), &n)
			return n, true
		}
	}
}

// takes reads a file that says how long code takes: a hash and a number a line.
func takes(file string) func(code string) (float64, bool) {
	return func(code string) (float64, bool) {
		text, _ := os.ReadFile(file)
		for _, line := range strings.Split(string(text), "\n") {
			var times float64
			if hash, number, ok := strings.Cut(line, " "); ok && hash == code {
				_, err := fmt.Sscan(number, &times)
				return times, err == nil
			}
		}
		return 0, false
	}
}

// badWorker is what a worker under test does wrong, once: the file that the variable names is made.
func badWorker() {
	once := func(name, end string) bool {
		file := os.Getenv(name) + end
		if file == end || !isWorker() {
			return false
		}
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			f.Close()
		}
		return err == nil
	}
	dies := func() tuner.WorkMachine { // with its order begun
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		return tuner.WorkMachine{}
	}
	if kernel := os.Getenv("TEST_WORK_NEVER"); kernel != "" && isWorker() {
		text, _ := os.ReadFile(os.Args[2])
		if strings.Contains(string(text), `"Kernel":"`+kernel+`"`) {
			workMachine = dies
		}
	}
	switch {
	case once("TEST_WORK_DIES", ""):
		workMachine = dies
	case once("TEST_WORK_TROUBLE", ".died"):
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case once("TEST_WORK_LIES", ""), once("TEST_WORK_TROUBLE", ".lied"):
		os.WriteFile(os.Args[3], []byte(`{"Order":"another"}`), 0o600)
		os.Exit(0)
	case once("TEST_WORK_OTHER", ""):
		workMachine = func() tuner.WorkMachine {
			return tuner.WorkMachine{Device: "Simulated H200", Driver: "550.2"}
		}
	}
}

// simLog are the candidates that were measured, by kernel: of each code once.
func simLog(dir string) map[string]int {
	text, _ := os.ReadFile(filepath.Join(dir, "measured"))
	seen, out := map[string]bool{}, map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if kernel, _, ok := strings.Cut(line, " "); ok && !seen[line] {
			seen[line] = true
			out[kernel]++
		}
	}
	return out
}

// isWorker tells whether this is a worker of tune --on.
func isWorker() bool { return slices.Contains(os.Args, tuner.WorkVerb) }
