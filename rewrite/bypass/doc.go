// Package bypass is the lever bypass, loads past L1 (bypass.go) and first out of L2 (l2.go), and a
// build that tries several of its values in one launch (sample.go). Package rewrite calls Apply,
// policy calls Sample.
package bypass
