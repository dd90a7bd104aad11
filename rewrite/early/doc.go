// Package early is the lever early: loads done in front of the stores before them. Package rewrite
// calls Apply; who chooses values asks Loads.
//
// In this order: plan.go (which loads may move), early.go (the lever, what it writes).
package early
