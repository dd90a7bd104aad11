// Package capturetest makes captured launches up, without a GPU, for tests of what is done with
// them.
package capturetest
