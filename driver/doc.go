// Package driver is gnvcc in nvcc's place. It finds the real nvcc, records the command, and becomes
// nvcc by exec, with prefixes that make it start cicc, ptxas and nvlink through gnvcc (driver/stage).
//
// Callers: cmd/gnvcc (Face). The packages below it, each of which imports only those before it:
//
//	toolcmd, environment, scratch, splice    command lines; variables, store, log; folders; objects
//	toolkit, child, again                    the real nvcc; tools as children; what apply hands its stages
//	record                                   what builds write down
//	job, compile                             one ptxas call; kernels compiled by recipes
//	standing                                 which recipe a build takes
//	stage                                    gnvcc in front of nvcc's tools
//	apply                                    recorded commands run again, status, clean
//
// TestLayout of cmd/gnvcc holds which may import which. They are more than stages, compile and
// apply because each cut stands where few names cross it: a tool's command and its PTX (job) are
// worked on by the ptxas stage and by the tuner alike, and what a stage leaves for apply (again,
// record) is neither's own.
//
// What holds everywhere in here:
//
//   - Fail open. Whatever goes wrong on our side, the tool runs on the untouched input with the
//     untouched arguments, and its messages, its exit code and its death are passed on.
//     GNVCC_STRICT=1 turns such a failure into an error.
//   - With no recipe for any kernel of a file, its cubin is nvcc's to the byte: the same file
//     names, the same options.
//   - Options of nvcc's tools are read by name. A command that is not fully understood is run as it
//     stands.
//
// Reading the source: face.go, prefix.go, manner.go (how an nvcc takes them), ccache.go.
package driver
