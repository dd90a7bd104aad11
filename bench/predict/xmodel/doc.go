// Package xmodel compares the X-model with what was measured: for each kernel of reports of the tuner
// (`gnvcc report --json`) whose launch was counted, the throughput in instructions of warps per
// cycle that the model predicts, and the one that clock and counts give. It takes stores in which
// gnvcc has built the same programs here, a toolkit, and no GPU.
//
// Files: main.go the command line and the table, kernel.go one kernel.
package xmodel
