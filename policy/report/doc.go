// Package report prints what was decided and why, and the progress of a run. It reads decisions and
// decides nothing.
//
// Only cmd/gnvcc calls it.
//
// Files: report.go and table.go the table, read.go one that was printed, explain.go one kernel in
// full, single.go each lever by itself, refusal.go why a recipe was refused, shape.go why other
// blocks are faster, between.go what is in no kernel, lines.go while a run goes on, outcome.go what it gave, text.go numbers and
// lines.
package report
