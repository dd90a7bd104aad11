// Command predict says what predictions are worth, without a GPU, by what was measured before:
//
//	predict picks -alone -reports REPORTS -stores STORES -machine machine.tsv -rows rows.jsonl
//	predict picks -registers -from ROWS,...
//	predict xmodel -reports REPORTS -stores STORES -machine machine.tsv -rows rows.jsonl
//	predict tile-kernels FOLDER       made-up kernels, with and without the lever tile
//	predict tile-fit FOLDER           when a tile pays, and the forest that says so
//
// REPORTS/PROGRAM.json is what `gnvcc report --json` printed where the program was tuned,
// STORES/PROGRAM a store in which gnvcc has built the same code here
// (GNVCC_STORE=STORES/PROGRAM make NVCC=gnvcc).
package main

import (
	"gnvcc/bench/lab"
	"gnvcc/bench/predict/picks"
	"gnvcc/bench/predict/tiles"
	"gnvcc/bench/predict/xmodel"
)

func main() {
	lab.Verbs("predict", lab.Verb{Name: "picks", Run: picks.Run}, lab.Verb{Name: "xmodel", Run: xmodel.Run},
		lab.Verb{Name: "tile-kernels", Run: tiles.Make}, lab.Verb{Name: "tile-fit", Run: tiles.Fit})
}
