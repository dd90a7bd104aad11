// Command thresholds tells how good the thresholds of bypass=K are that one launch speaks for
// (rewrite.Sample), against all of them measured. It reads reports of
//
//	gnvcc tune --levers bypass --exhaustive -- ./app
//
// (`gnvcc report --json`), in which both stand.
//
//	thresholds -rows rows.jsonl PROGRAM.json ...
package main
