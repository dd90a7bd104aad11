package compile

import (
	"context"
	"sync"
)

// flights are the things that are being made just now.
type flights struct{ now sync.Map } // key -> chan struct{}

// take says who makes a thing. The first one does, and calls done; others wait for that, and then
// look for the result (busy), or give up with ctx.
func (f *flights) take(ctx context.Context, key string) (busy bool, done func(), err error) {
	mine := make(chan struct{})
	other, busy := f.now.LoadOrStore(key, mine)
	if !busy {
		return false, func() { f.now.Delete(key); close(mine) }, nil
	}
	select {
	case <-other.(chan struct{}):
		return true, nil, nil
	case <-ctx.Done():
		return true, nil, ctx.Err()
	}
}

// once gives what is kept, or else makes it, which keeps it unless it is not to be. Where several
// ask for one thing at the same time the first makes it and the others wait; not so without
// flights: builds run in processes of their own.
func once[T any](ctx context.Context, f *flights, key string, kept func() (T, bool, error),
	made func() (T, error)) (T, error) {
	for {
		if t, ok, err := kept(); ok {
			return t, err
		}
		if f == nil {
			return made()
		}
		busy, done, err := f.take(ctx, key)
		switch {
		case err != nil:
			var none T
			return none, err
		case !busy:
			defer done()
			return made()
		}
	}
}
