package main

import "fmt"

const helpText = `gnvcc takes nvcc's place, and makes the kernels that it builds faster.

  gnvcc ARGS                   what nvcc ARGS does, with the recipes that are known (gnvcc --help is nvcc's)
  gnvcc tune -- ./app ARGS     observe a run of a program that gnvcc built, and find recipes on its launches; -apply builds with them
  gnvcc replay [KERNEL]        search again on the launches that tune has captured
  gnvcc captures               list them; drop or export some
  gnvcc profile -- ./app       what a program does on the GPU; -show: what is known
  gnvcc apply                  run again the compile commands whose kernels' recipes have changed
  gnvcc revert                 give what was built with recipes nvcc's own code
  gnvcc status                 what in this folder was built with which recipe, and what is pending
  gnvcc clean                  remove what is no use any more; -all: everything but recipes
  gnvcc report                 kernel by kernel: registers, occupancy, times, how it was checked; -predict needs no GPU
  gnvcc explain KERNEL         all that is known of a kernel, and why it is built as it is
  gnvcc predict [KERNEL]       what limits kernels, and which register caps to measure first: from machine code, without a GPU
  gnvcc pin KERNEL RECIPE      build a kernel with a recipe of yours; unpin takes it back
  gnvcc ban KERNEL LEVER...    never use these levers on a kernel; unban takes it back
  gnvcc forget KERNEL          drop what was decided, pinned and tried for a kernel; -all: for all of them, bans too
  gnvcc doctor                 what was found on this machine, and what is missing; -measure: its rates, latencies, and what approximation is worth
  gnvcc stats                  what builds took from the store, and why stages stepped aside; -zero counts anew
  gnvcc help                   this

Each verb tells its options with -h. A word that is a file's name is an input for nvcc, not a verb.

  GNVCC_NVCC=PATH   the real nvcc (else CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda, install/toolkit's)
  GNVCC_STORE=DIR   where recipes are kept (else ~/.cache/gnvcc)
  GNVCC_DEVICE=GPU  build for this one (a part of its name), where several were measured on
  GNVCC_MAXSIZE=5G  how large the store may become; 0: no limit
  GNVCC_OFF=1       be nvcc, and nothing else
  GNVCC_KEEP=DIR    keep every file between nvcc's steps
  GNVCC_LOG=FILE    note what was done, and why gnvcc stepped aside
  GNVCC_VERIFY=1    run what could be taken from the store all the same, and compare
  GNVCC_STRICT=1    make a failure of gnvcc's own an error
`

// help prints what there is.
func help([]string) int {
	fmt.Printf("%sThis is gnvcc %s.\n", helpText, version)
	return 0
}
