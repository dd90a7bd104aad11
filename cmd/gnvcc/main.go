package main

import (
	"os"
	"path/filepath"
	"strings"

	"gnvcc/driver"
	"gnvcc/driver/stage"
	"gnvcc/policy/tuner"
)

func main() { os.Exit(run(os.Args)) }

// run decides the role. It returns only where the role is not to become another program.
func run(argv []string) int {
	if len(argv) == 0 {
		return driver.Face(nil)
	}
	args := argv[1:]
	if step, command, ok := stage.Of(args); ok {
		return stage.Run(step, command)
	}
	if verb := verbOf(argv[0], args); verb != nil {
		if args[0] != "doctor" { // which says it itself
			settle(false)
		}
		return verb(args[1:])
	}
	if !settle(true) {
		return 1
	}
	if filepath.Base(argv[0]) != "nvcc" {
		if code, done := nvccsHelp(args); done {
			return code
		}
		hint(args)
	}
	return driver.Face(args)
}

// verbOf finds the verb that a command line asks for. Who calls us nvcc wants nvcc, and a word that
// is also a file's name is an input: verbs are taken only where nvcc would refuse. A folder
// (profile/, report/) is no input: nvcc refuses every one.
func verbOf(self string, args []string) func([]string) int {
	if len(args) == 0 || filepath.Base(self) == "nvcc" {
		return nil
	}
	if strings.HasPrefix(args[0], "__complete") {
		return func([]string) int { return complete(args) }
	}
	if args[0] == tuner.WorkVerb {
		return ordered
	}
	if !isVerb(args[0]) {
		return nil
	}
	if info, err := os.Stat(args[0]); err == nil && !info.IsDir() {
		return nil
	}
	return func(rest []string) int { return execute(args[0], rest) }
}
