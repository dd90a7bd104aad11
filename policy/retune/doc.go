// Package retune is what gnvcc watch does when policy/watch asks: it runs recorded commands again
// and tunes edited kernels on the launches that were captured of them (a World of policy/watch),
// and leaves the machine to others while they use it. With policy/tuner it is where policy meets
// driver.
//
// cmd/gnvcc, which has the locks, the log and the words of gnvcc watch, makes a World; tests put
// their own Machine below it.
//
// Files: world.go commands and captures, stale.go what makes a decision stale,
// search.go the search on one kernel, machine.go load, battery and priority.
package retune
