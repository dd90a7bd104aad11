// Package contract writes into a kernel's PTX with which product each of its sums is contracted,
// and which sums are rounded by themselves. PTX that leaves that open leaves it to ptxas, and ptxas
// may decide in another way where anything near the sum is rewritten.
//
// Callers: driver/compile, which reads in the machine code what ptxas did in nvcc's own build.
//
// Reading the source: contract.go.
package contract
