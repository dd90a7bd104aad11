// Package counters makes a kernel count how often its basic blocks run, for one launch in a replay.
// No build ever holds such a kernel; policy calls it.
package counters
