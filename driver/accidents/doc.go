// Package accidents holds tests only: what a build does when many run at once, when something ends
// its processes, when its store is full, damaged or hostile. Each works on the real nvcc 13.0
// and on the gnvcc binary as users have it, and asks for the same thing: the build's result is
// nvcc's (or the recipe's), gnvcc prints nothing, and no decision that was confirmed is lost.
//
// GNVCC_TESTS=longer does the same for long: 500 translation units, 1000 rounds of kills (several
// processes each), 200 signals; what comes near -timeout stops by itself and says how far it came.
//
// Every reader of untrusted bytes has a fuzz target next to it.
//
// No package imports it.
package accidents
