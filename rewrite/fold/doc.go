// Package fold tells whether a kernel that is compiled for known values, or with its loops
// unrolled, may get other bits: cicc computes what is constant with the host's mathematics, and the
// GPU's sin, exp or pow round otherwise.
//
// It reads the PTX that cicc writes at -O1, in which mathematical functions are still calls, and
// says where such a call, or an approximate instruction, could become constant. It knows PTX only;
// driver calls it before a source variant is compiled.
//
// Contracts reads the PTX as it is built, and tells where a variant would contract other products
// with sums, and so round otherwise.
//
// fold.go is the judgement, value.go what is known of each value, math.go the functions,
// constraints.go what comparisons tell, rounds.go loops where nothing is fixed, ways.go which
// branches are left where values are put into PTX; undefined.go and undefinedwalk.go integers
// without a result, counted.go loops that ptxas unrolls; contract.go and product.go the sums,
// along.go the way of what was stored through a function.
package fold
