// Command predict compares what sim/predict predicts with what was measured: it takes reports of the
// tuner (`gnvcc report --json`), builds the candidates that were measured then once more, from
// stores in which gnvcc has built the same programs here (those whose recipe is exact by
// construction), and says how good the picks and the order of each predictor would have been. It
// needs a toolkit and no GPU.
//
//	predict -alone -reports REPORTS -stores STORES -rows rows.jsonl
//	predict -registers -from ROWS,...
//
// REPORTS/PROGRAM.json is what `gnvcc report --json` printed where the program was tuned,
// STORES/PROGRAM a store in which gnvcc has built the same code here
// (GNVCC_STORE=STORES/PROGRAM make NVCC=gnvcc).
//
// -half a and -half b take one half of the programs each, by a hash of the name: build models on
// one, look at the other once. -from takes rows that -rows wrote, in place of reports, and needs no
// toolkit; -registers takes recipes for registers alone.
//
// Files: main.go the command line, gather.go trials built again, rows.go trials as they were
// written, rebuilt.go reports and stores, score.go picks and orders.
package main
