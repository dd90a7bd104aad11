// Package bench is the folder of benchmarks: what gnvcc costs and what it brings, measured from the
// outside and by other means than its own. README.md says how to run them; their raw results are
// kept beside them.
//
//	clock/       kernels' times by the GPU's own time stamps
//	suite/       a folder of programs: built and run with nvcc, tuned, built and run with gnvcc
//	candidates/  what compiling n candidates costs against one
//	coverage/    which levers the kernels of real programs accept, and why they refuse the others
//	overhead/    what gnvcc adds to a build
//	rebuild/     what applying costs
//	predict/     what predictions would have been worth
//	xmodel/      how near the X-model comes to measured throughput
//	watch/       a source that is edited while gnvcc watch runs
//	folding/     what ptxas computes by itself, against the GPU
//	harm/        programs of the classes that a tuner could harm: which it does
//	forests/     random forests, grown on recorded times
//	spin/, throttle/, shape/, sass/, replay/ single questions, each answered in results/
//	growth/      stores and registries as they grow
//	store/       what a build waits for the store
//	machine/     what a figure was measured on
//	step/        one command with a limit
//	tree/        copies of programs to build in
//	energy/      joules of whole runs, by the GPU's own counter
//	jsonl/       files of raw results
//
// They run gnvcc as a user does. Nothing in the project may import them, save that cmd/gnvcc's
// tests run watch/'s script.
package bench
