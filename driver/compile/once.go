package compile

import (
	"context"
	"errors"
	"sync"

	"gnvcc/cache"
)

// What is made once: for all who ask at the same time, and for those who ask later.

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

// A keptOf is the memo of what was made, or of why it can't be.
type keptOf[T any] struct {
	Value T      `json:",omitzero"`
	Error string `json:",omitempty"`
}

// recall gives what is kept under a key and is sound (nil: all is), or why it can't be made; else
// it makes and keeps it. What fails by this machine at this moment is tried again the next time.
func recall[T any](ctx context.Context, store *cache.Store, f *flights, memo cache.Memos[keptOf[T]],
	key string, sound func(T) bool, made func() (T, error)) (T, error) {
	k, err := once(ctx, f, string(memo)+" "+key, func() (keptOf[T], bool, error) {
		k, ok := memo.Get(store, key)
		return k, ok && (k.Error != "" || sound == nil || sound(k.Value)), nil
	}, func() (k keptOf[T], err error) {
		if k.Value, err = made(); err != nil {
			if ctx.Err() != nil || transient(err) {
				return k, err
			}
			k.Error = err.Error()
		}
		memo.Put(store, key, k)
		return k, nil
	})
	if err == nil && k.Error != "" {
		err = errors.New(k.Error)
	}
	return k.Value, err
}
