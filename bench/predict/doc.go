// Command predict compares what sim/predict predicts with what was measured: it takes reports of
// the tuner (`gnvcc report --json`), builds the candidates that were measured then once more, from
// stores in which gnvcc has built the same programs here (those whose recipe is exact by
// construction), and tells how good the picks and the order of each predictor would have been. It
// needs a toolkit and no GPU.
//
//	predict -alone -reports REPORTS -stores STORES -machine machine.tsv -rows rows.jsonl -grow forest.json
//	predict -registers -from ROWS,...
//	predict -space space.jsonl -from ROWS,... -stores STORES -machine machine.tsv
//
// With -grow it also grows a forest on all rows and keeps it: that is the one command for a GPU of
// one's own. -half a and -half b take one half of the programs each, by a hash of the name: build
// models on one, look at the other once, with -forest.
//
// -from takes rows that -rows wrote, in place of reports, and needs no toolkit; -registers takes
// recipes for registers alone. -space only counts critical points beside all register counts that
// there are, of kernels that it compiles from stores.
//
// Files: main.go the command line, gather.go trials built again, rows.go trials as they were
// written, score.go picks and orders, critical.go critical points against every register count,
// space.go how many of both there are.
package main
