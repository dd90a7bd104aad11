// Package script is what people do to a source while gnvcc watch runs: a project of many kernels,
// edits one after the other, and what has to be tuned again after each. bench/watch runs it with a
// GPU, cmd/gnvcc's tests with a simulated one; each of them says which.
package script
