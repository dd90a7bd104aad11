// Package bypass is the lever bypass: loads past L1 (bypass.go) and first out of L2 (l2.go). Package
// rewrite calls Apply.
package bypass
