// Package counters makes a kernel count what it does, for one launch in a replay: basic blocks,
// sectors, caches, work of threads (count.go), banks of shared memory (shared.go). No build ever
// holds such a kernel; policy calls it.
package counters
