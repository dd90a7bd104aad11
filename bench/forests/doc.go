// SPDX-License-Identifier: Apache-2.0

// Package forests grows random forests (sim/forest) on recorded times: trees on samples of the
// data, each split chosen from some of the features (Breiman, Random Forests, 2001). Written out
// because no maintained library for it can be had; a forest here has hundreds of rows and tens of
// features, so that simple code is fast enough. The same data and seed give the same forest, byte
// for byte.
//
// The programs of bench call it. Files: grow.go trees and bagging, validate.go errors on rows that
// were not seen.
package forests
