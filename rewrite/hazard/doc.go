// Package hazard reads from a kernel's PTX where its locks and barriers can make it hang, or give wrong
// results: the classes of Li, GPU performance modeling and optimization (2016), section 7.3.4, that
// concern sm_70 and later. It changes nothing, and it says nothing where it is not sure: a warning
// about code that is right is worse than none. Barriers in conditions on data are left to
// compute-sanitizer --tool synccheck.
//
// cmd/gnvcc prints its warnings in reports. It calls rewrite/ptx.
//
// Files: hazard.go locks, barrier.go barriers.
package hazard
