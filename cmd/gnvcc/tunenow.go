package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"gnvcc/driver/environment"
	"gnvcc/driver/toolkit"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/policy/report"
	"gnvcc/policy/tuner"
	"gnvcc/profile"
)

// What gnvcc tune and gnvcc replay share: a run of package tuner, told to people.

// tuneNow searches as tune and replay do, where options and machine allow it.
func tuneNow(verb string, asked tuner.Request, quiet bool) error {
	if err := asked.Options.Validate(lever.Names()); err != nil {
		return err
	}
	if !driverHere() { // a cluster's login node has none: what searches on captures may be elsewhere
		asked.NoGPU = asked.Mode == tuner.Captured && asked.On != nil && !asked.On.Here()
		if !asked.NoGPU {
			return withoutDriver(verb)
		}
	}
	signals := newRelay()
	defer signals.Close()
	end, err := tuneRun(signals, asked, quiet)
	return exit(conclude(verb, signals, end, err))
}

func tuneRun(signals *relay, asked tuner.Request, quiet bool) (end profile.Exit, err error) {
	end.Code = 1
	if asked.Store, err = openStore(); err != nil {
		return end, err
	}
	self, _ := os.Executable()
	if asked.Tools, err = toolkit.Find(self, environment.Read()); err != nil {
		return end, err
	}
	asked.Signals, asked.GPU, asked.During, asked.Stderr = signals, gpu, during, os.Stderr
	if !quiet {
		lines := report.NewLines(os.Stderr, isTerminal(os.Stderr))
		defer lines.Close()
		lines.SetWidth(terminalWidth(os.Stderr))
		asked.Listen, asked.At = lines, lines.At
	}
	asked.Found = func(f tuner.Found) { found(f, quiet) }
	return tuner.Run(asked)
}

// found tells what a run gave.
func found(f tuner.Found, quiet bool) {
	if f.Program.Killed != "" {
		fmt.Fprintln(os.Stderr, "gnvcc: the program was killed:", f.Program.Killed)
	}
	if quiet {
		return
	}
	for _, note := range f.Notes {
		fmt.Fprintln(os.Stderr, "gnvcc:", note)
	}
	summary(os.Stderr, f.Results, f.Compiled, f.Took)
	if text := report.Outcome(f.Pieces); text != "" {
		fmt.Fprintf(os.Stderr, "gnvcc: %s\n", text)
	}
}

// conclude complains of what went wrong, and gives the exit code: the program's own, if that ended
// well and we did not. Where an interrupt ended the program, or our own work, we die of it, as a
// shell's loop around us has to know.
func conclude(verb string, signals *relay, exit profile.Exit, err error) int {
	if err != nil {
		complain(verb, err)
		exit.Code = cmp.Or(exit.Code, 1)
	}
	if exit.Signal == syscall.SIGINT && signals.Asked() != 0 {
		dieBy(syscall.SIGINT)
	}
	return exit.Code
}

// summary says in a few lines what the run gave.
func summary(w io.Writer, results []decide.Result, counts string, took time.Duration) {
	better, same, alone := 0, 0, 0
	for _, r := range results {
		switch {
		case r.Decision != nil && r.Decision.Recipe != "":
			better++
		case r.Decision != nil && len(r.Decision.Evidence.Launches) > 0:
			same++
		default: // of a decision without a launch nothing was measured, it only says why
			alone++
		}
	}
	switch {
	case len(results) == 0:
		fmt.Fprintln(w, "gnvcc: the program launched no kernel, or uses no GPU: nothing was measured")
	default:
		fmt.Fprintf(w, "gnvcc: %s: %d can be faster, %d best as nvcc builds them, %d left alone (%.1f s; %s). gnvcc report shows more\n",
			policy.Count(len(results), "kernel"), better, same, alone, took.Seconds(), counts)
	}
}
