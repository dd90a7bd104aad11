// Package hazard reads from a kernel's PTX where its locks and barriers can make it hang, or give
// wrong results: the classes of Li, GPU performance modeling and optimization (2016), section
// 7.3.4, as they are today. It changes nothing, and it says nothing where it is not sure: a warning
// about code that is right is worse than none.
//
// cmd/gnvcc prints its warnings in reports. It calls rewrite/ptx.
package hazard
