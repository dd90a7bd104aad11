// Package lab is what the programs of bench share: the command line, the machine's facts, one
// command with a limit, copies of programs to build in, files of raw results, a few statistics, and
// the clock.
//
// The clock is how gnvcc's gains are measured: the GPU's own time stamps of every kernel, taken by a
// small library (injection/clock.c) that the driver loads into the unchanged program. It shares no
// code with gnvcc's tuner, so that a mistake of the tuner can't confirm itself. Nothing in this
// package imports gnvcc.
package lab
