package environment

import (
	"errors"
	"fmt"

	"gnvcc/cache"
)

// errNoStore is wrapped where there is no store to be had. A build does without.
var errNoStore = errors.New("no usable store (gnvcc doctor says why)")

// OpenStore opens the store.
func (e *Environment) OpenStore() (*cache.Store, error) {
	dir, err := cache.Dir()
	var store *cache.Store
	if err == nil {
		store, err = cache.Open(dir)
	}
	if err != nil {
		log := e.Log()
		log.Warn().Err(err).Msg("no store")
		return nil, fmt.Errorf("%w: %w", errNoStore, err)
	}
	return store, nil
}
