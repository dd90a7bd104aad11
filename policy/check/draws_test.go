package check

import "testing"

// TestDraws: launches of few threads get more draws, until 4,096 threads have computed.
func TestDraws(t *testing.T) {
	for threads, want := range map[int][2]int{1: {16, 4}, 64: {16, 4}, 512: {8, 4}, 1024: {4, 4}, 2048: {2, 2},
		4096: {2, 1}, 1 << 30: {2, 1}} {
		if all, due := Draws(threads); all != want[0] || due != want[1] {
			t.Errorf("%d threads: %d draws, %d of them in any case", threads, all, due)
		}
	}
}
