// Package picks compares what sim/predict predicts with what was measured: it takes reports of the
// tuner (`gnvcc report --json`), builds the candidates that were measured then once more, from
// stores in which gnvcc has built the same programs here (those whose recipe is exact by
// construction), and says how good the picks and the order of each predictor would have been. It
// needs a toolkit and no GPU.
//
// -half a and -half b take one half of the programs each, by a hash of the name: build models on
// one, look at the other once. -from takes rows that -rows wrote, in place of reports, and needs no
// toolkit; -registers takes recipes for registers alone.
//
// Files: picks.go the command line, gather.go trials built again, rows.go trials as they were
// written, score.go picks and orders.
package picks
