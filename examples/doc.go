// Package examples holds no Go code to call: beside it lie CUDA programs that show, each, one thing
// that gnvcc can win (or must leave alone), that check their own results and that have a clock of
// their own. examples/demo runs them through the whole loop. The tests here build them as a user
// would, with the real nvcc. Nobody imports this package.
package examples
