package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/spf13/pflag"

	"gnvcc/policy/tuner"
	"gnvcc/profile"
)

// Parallel programs: mpirun gnvcc tune -- ./app starts as many of us as there are ranks. One of
// them looks at its process; the others step aside, and are the program.

func rankOption(fs *pflag.FlagSet) *string {
	return fs.String("rank", "0", "of a parallel program (MPI, srun, torchrun), capture the process of this rank `n`, or of all: the others are counted, or run as they are where gnvcc tune is what is started in parallel")
}

// amongRanks tunes where this process is not another rank than the one that is to be looked at.
func amongRanks(asked tuner.Request, rank string, quiet bool) (err error) {
	if asked.Rank, err = parseRank(rank); err != nil {
		return err
	}
	own, parallel := profile.RankOf(os.Environ())
	if parallel && own != asked.Rank && asked.Rank != profile.AllRanks {
		return becomes(asked.Program, own, asked.Rank, quiet)
	}
	return tuneNow("tune", asked, quiet)
}

// parseRank reads --rank.
func parseRank(text string) (int, error) {
	if text == "all" {
		return profile.AllRanks, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, errors.New("--rank: a number from 0 on, or all")
	}
	return n, nil
}

// becomes makes this process the program, as it would be without us.
func becomes(program []string, own, other int, quiet bool) error {
	path, err := exec.LookPath(program[0])
	if err != nil {
		complain("tune", err)
		return exit(127)
	}
	if !quiet {
		fmt.Fprintf(os.Stderr, "gnvcc: rank %d runs as it is: rank %d is looked at (--rank)\n", own, other)
	}
	return syscall.Exec(path, program, os.Environ())
}
