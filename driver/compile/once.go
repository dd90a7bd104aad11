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

// A keptOf is the memo of what was made, or of why it can't be.
type keptOf[T any] struct {
	Value T      `json:",omitzero"`
	Error string `json:",omitempty"`
}

// recall gives what is kept under a key and is sound (nil: all is), or why it can't be made; else
// it makes and keeps it. Where several ask for one thing at the same time the first makes it and the
// others wait; not so without flights: builds run in processes of their own. What fails by this
// machine at this moment is tried again the next time.
func recall[T any](ctx context.Context, store *cache.Store, f *flights, memo cache.Memos[keptOf[T]],
	key string, sound func(T) bool, made func() (T, error)) (out T, err error) {
	for {
		k, ok := memo.Get(store, key)
		switch {
		case ok && k.Error != "":
			return out, errors.New(k.Error)
		case ok && (sound == nil || sound(k.Value)):
			return k.Value, nil
		}
		if f != nil {
			busy, done, err := f.take(ctx, string(memo)+" "+key)
			if err != nil {
				return out, err
			} else if busy {
				continue
			}
			defer done()
		}
		out, err = made()
		if err == nil {
			memo.Put(store, key, keptOf[T]{Value: out})
		} else if ctx.Err() == nil && !transient(err) {
			memo.Put(store, key, keptOf[T]{Error: err.Error()})
		}
		return out, err
	}
}
