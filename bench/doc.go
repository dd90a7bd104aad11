// Package bench is a module of its own: what gnvcc costs and what it brings, measured from the
// outside and by other means than its own. README.md says how to run its programs; their raw results
// are in results/.
//
//	suite/    a folder of programs: built and run with nvcc, tuned, built and run with gnvcc
//	build/    what builds and apply cost
//	keep/     whether recipes keep bits, and gnvcc leaves programs alone
//	predict/  what predictions would have been worth
//	accept/   which levers the kernels of real programs accept, and why they refuse the others
//	watch/    a source that is edited while gnvcc watch runs
//	mutate/   which faults in the sources the tests catch
//	lab/      what these programs share
//	apps/     applications for suite, by their own build files
package bench
