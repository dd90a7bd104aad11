// Package lever says which recipes are worth a compile and a measurement, for which kernels: a
// table of levers, a file each, as rewrite has a pass for each. It measures nothing and decides
// nothing.
//
// policy/search asks it what to try, policy/report what to call it; cmd/gnvcc for the levers'
// names.
//
// A new lever is one file here that calls register, and one row of rewrite's table: nothing else
// lists them.
//
// Files: lever.go the table, situation.go what a lever may look at, recipes.go recipes taken apart
// and joined, allowed.go what the user allows, enough.go demotions
// that leave nothing to spill; all others a lever each, but that both forms of
// approximation share approx.go.
package lever
