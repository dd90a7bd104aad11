package tuner

import (
	"context"
	"errors"
	"time"

	"gnvcc/policy/check"
	"gnvcc/profile/capture"
)

// The budget is kept: what a replay takes beside its search is known before it is begun, and what takes
// longer all the same is ended. Seconds of recorded replays (bench/results, programs with captures of 1 to
// 10 GB on an H200): a process starts and ends in 0.3; a GB is unpacked in 0.3, read in 0.3 and copied to
// the GPU in 0.3 to 1.1; a draw of varied data takes 0.02, and 0.2 a GB.
const (
	starting   = 600 * time.Millisecond
	gigabyte   = 1500 * time.Millisecond
	drawing    = 30 * time.Millisecond
	drawingOne = 250 * time.Millisecond // a GB
	// part of the budget by which a search may be late until it is ended: with what is decided behind
	// it, a tenth in all
	overtime = 0.06
)

// errOvertime ends a search whose budget is used up.
var errOvertime = errors.New("the budget ended while it was replayed")

// beside is what a replay of a capture takes beside its search: to begin and to end, and for the draws of
// varied data that are due whatever they take.
func beside(m *capture.Manifest) (visit, draws time.Duration) {
	size := float64(m.Filled) / 1e9
	_, due := check.Draws(threads(m))
	return starting + time.Duration(size*float64(gigabyte)),
		time.Duration(required(m, due)) * (drawing + time.Duration(size*float64(drawingOne)))
}

// needs is what a capture takes at least.
func needs(m *capture.Manifest) time.Duration {
	visit, draws := beside(m)
	return least + visit + draws
}

// limited gives a context that ends with the budget, some overtime behind; begun is since when it counts: the
// program's end, since captures are still packed then.
func (w *ReplaySearch) limited(ctx context.Context) (limited context.Context, begun time.Time, cancel func()) {
	if begun = w.account.ended; begun.IsZero() {
		begun = time.Now()
	}
	limited, cancel = context.WithDeadlineCause(ctx, begun.Add(w.Budget+time.Duration(overtime*float64(w.Budget))), errOvertime)
	return limited, begun, cancel
}

// late reports whether a context has ended with the budget.
func late(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errOvertime) }
