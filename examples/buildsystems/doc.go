// Package buildsystems holds no Go code to call: its tests put gnvcc where nvcc stood in projects of CMake, Make, Meson, in the
// command lines that PyTorch's extensions and Bazel use, and below ccache and sccache, and compare what comes out with nvcc's own. The
// projects are in testdata/. Nobody imports this package.
package buildsystems
