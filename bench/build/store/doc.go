// Package store measures what a build waits for the store: opening the snapshot of the decisions,
// one look-up, decoding the recipe, closing; by 64 processes at once, with and without an owner that
// publishes meanwhile.
//
// Two times are kept of each look-up. Wall is what the build waits; with fewer processors than
// builders it holds what the scheduler gave to others. CPU is the thread's own processor time,
// which a busy machine changes little. The first look-up of each process stands apart too: a
// build's stage makes one and ends.
package store
