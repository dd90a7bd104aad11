// Command predict says what predictions are worth, without a GPU, by what was measured before:
//
//	predict picks -alone -reports REPORTS -stores STORES -machine machine.tsv -rows rows.jsonl
//	predict picks -registers -from ROWS,...
//	predict xmodel -reports REPORTS -stores STORES -machine machine.tsv -rows rows.jsonl
//
// REPORTS/PROGRAM.json is what `gnvcc report --json` printed where the program was tuned,
// STORES/PROGRAM a store in which gnvcc has built the same code here
// (GNVCC_STORE=STORES/PROGRAM make NVCC=gnvcc).
package main

import (
	"gnvcc/bench/lab"
	"gnvcc/bench/predict/picks"
	"gnvcc/bench/predict/xmodel"
)

func main() {
	lab.Verbs("predict", lab.Verb{Name: "picks", Run: picks.Run}, lab.Verb{Name: "xmodel", Run: xmodel.Run})
}
