// Package tree is for benchmarks that build programs of others: which ones there are in a folder,
// and copies of them to build in.
package tree
