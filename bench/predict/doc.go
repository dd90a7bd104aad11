// Command predict compares what sim/predict foretells with what was measured: it takes a report of the tuner
// (`gnvcc report -json`), builds the candidates that were measured then once more (those whose recipe acts on PTX and
// is exact by construction), and tells how good the picks of each predictor would have been. It needs a toolkit and no
// GPU.
//
//	predict -report examples-report.json -examples ../../examples -grow forest.json
//
// With -grow it also grows a forest on all rows and keeps it: that is the one command for a GPU of one's own.
package main
