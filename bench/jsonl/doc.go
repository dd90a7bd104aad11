// Package jsonl keeps raw results of benchmarks in files of one JSON value a line, which can be
// appended to, and gone on with after an interruption.
package jsonl
