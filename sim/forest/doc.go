// Package forest is regression by a random forest: trees that are grown on samples of the data,
// each split chosen among some of the features (Breiman, Random Forests, 2001). Written out because
// no maintained library for it can be had; a forest here has hundreds of rows and tens of features,
// so that simple code is fast enough.
//
// The same data and seed give the same forest, byte for byte. sim/predict and bench call it; it
// calls nobody.
//
// Files: grow.go trees and bagging, file.go forests on disk, validate.go errors on rows that were
// not seen.
package forest
