// Package report tells people what was decided and why, and how far a run is. It reads decisions
// and decides nothing.
//
// cmd/gnvcc calls it; nobody else.
//
// Files: report.go and table.go the table, read.go one that was printed, explain.go one kernel in
// full, single.go each lever by itself, class.go how a kernel takes to L1, shape.go why other
// blocks are faster, lines.go while a run goes on, outcome.go what it gave, text.go numbers and
// lines.
package report
