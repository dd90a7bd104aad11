// Command gnvcc takes nvcc's place on a command line, and makes the kernels that it builds faster.
//
// One program, three roles: nvcc's face (what users call), a stage (what nvcc calls in front of
// cicc, ptxas and nvlink, and sometimes of cudafe++ and the host compiler), and a verb of gnvcc's
// own (gnvcc tune, gnvcc report, ...).
package main
