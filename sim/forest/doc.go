// Package forest is regression by a random forest (Breiman, Random Forests, 2001): what its trees
// answer, and forests on disk. They are grown by bench/predict.
//
// policy/lever, sim/predict and bench call it; it calls nobody.
//
// Files: forest.go the trees, file.go forests on disk.
package forest
