// Package hazard reads from a kernel's PTX where its locks can make it hang, or give wrong results:
// the classes of Li, GPU performance modeling and optimization (2016), section 7.3.4, that concern
// spin locks on sm_70 and later. It changes nothing, and it says nothing where it is not sure: a
// warning about code that is right is worse than none. (Barriers that not all threads reach are found
// by compute-sanitizer --tool synccheck.)
//
// cmd/gnvcc prints its warnings in reports. It calls rewrite/ptx.
package hazard
