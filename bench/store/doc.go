// Command store measures what a build waits for the store: opening the snapshot of the decisions,
// one look-up, decoding the recipe, closing; by 64 processes at once, with and without an owner
// that publishes meanwhile.
//
//	go run ./bench/store -out store.json
//
// Two times are kept of each look-up. Wall is what the build waits; with fewer processors than
// builders it holds what the scheduler gave to others. CPU is the thread's own processor time,
// which a busy machine changes little. The first look-up of each process stands apart too: a
// build's stage makes one and ends.
//
//	-builders N  processes (default 64)
//	-lookups N   of each process (default 50), with 0 to 100 ms between them
//	-records L   decisions in the store (default 10,1000,30000)
//	-rounds N    the whole table as often (default 1)
//	-working B   false: not with builders that compute between their look-ups
//	-out FILE    raw results, JSON: every single time
package main
