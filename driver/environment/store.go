package environment

import (
	"errors"

	"gnvcc/cache"
)

var ErrNoStore = errors.New("there is no store that can be used (gnvcc doctor says why)")

// OpenStore opens the store; nil where there is none to be had. A build does without.
func OpenStore() *cache.Store {
	dir, err := cache.Dir()
	var store *cache.Store
	if err == nil {
		store, err = cache.Open(dir)
	}
	if err != nil {
		log := Log()
		log.Warn().Err(err).Msg("no store")
		return nil
	}
	return store
}
