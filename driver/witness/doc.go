// Package witness says which code is in a file now: it reads the file's device code and looks it up in
// the records of builds. The records alone can't say, since plain nvcc, a compiler cache, cp and git
// write files, too.
//
// Callers: driver/apply.
//
// Reading the source: witness.go (the code in a file), find.go (files with code in a folder).
package witness
