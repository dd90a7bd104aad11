// Package buildsystems has only tests: they use gnvcc in place of nvcc in projects of CMake, Make,
// Meson, Bazel, in the command lines that PyTorch's extensions use, and below Bear and ccache, and compare
// what comes out with nvcc's own. The projects are in testdata/.
package buildsystems
