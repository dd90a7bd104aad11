// Package bench is a module of its own: what gnvcc costs and what it brings, measured from the
// outside and by other means than its own. README.md says how to run its programs; their raw results
// are in results/.
//
//	suite/       a folder of programs: built and run with nvcc, tuned, built and run with gnvcc
//	apps/        applications for suite, by their own build files
//	papers/      the papers' programs for suite
//	overhead/    what gnvcc adds to a build
//	rebuild/     what applying costs
//	store/       what a build waits for the store
//	harm/        programs of the classes that a tuner could harm: which it does
//	predict/     what predictions would have been worth
//	xmodel/      how near the X-model comes to measured throughput
//	tiles/       when the lever tile pays
//	forests/     random forests, grown on recorded times
//	coverage/    which levers the kernels of real programs accept, and why they refuse the others
//	watch/       a source that is edited while gnvcc watch runs; judgements a minute
//	lab/         what these programs share
package bench
