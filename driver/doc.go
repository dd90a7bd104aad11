// Package driver stands between the user and nvcc. It finds the real nvcc, runs it in such a way that its steps cicc, ptxas
// and nvlink start through gnvcc, and is what they start through: a stage. The stages write down what they saw,
// look the kernels' recipes up and apply them. The same steps, taken again outside of a build, give the tuner its
// candidates (Compiler), and the recorded commands can be run again in place (Apply).
//
// Callers: cmd/gnvcc calls Face and Stage (the usual build) and the verbs; policy is given a Compiler through cmd.
//
// What holds everywhere in here:
//
//   - Fail open. Whatever goes wrong on our side, the tool runs on the untouched input with the untouched arguments, and
//     its messages, its exit code and its death are passed on. GNVCC_STRICT=1 turns such a failure into an error.
//   - With no recipe for any kernel of a file, its cubin is nvcc's to the byte: the same file names, the same options.
//   - Options of nvcc's tools are read by name. A command that is not fully understood is run as it stands.
//
// Reading the source: toolcmd/ (the command lines of nvcc and its tools), find.go (the real nvcc), environment.go (variables: ours, and those
// a compile depends on), prefix.go and face.go (the way in), stage.go and child.go (what all stages share), cicc.go,
// cudafe.go, host.go, ptxas.go and nvlink.go (the stages), reuse.go and splice.go (what apply need not run again), variant.go (source variants), joint.go (several in one run of cicc), compiler.go and link.go (candidates), apply.go,
// builds.go and try.go (what gnvcc watch asks: which files a command read, and what it gives now).
package driver
