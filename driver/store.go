package driver

import (
	"errors"

	"gnvcc/cache"
)

var errNoStore = errors.New("there is no store that can be used (gnvcc doctor says why)")

// openStore opens the store; nil where there is none to be had. A build does without.
func openStore() *cache.Store {
	dir, err := cache.Dir()
	var store *cache.Store
	if err == nil {
		store, err = cache.Open(dir)
	}
	if err != nil {
		log := logger()
		log.Warn().Err(err).Msg("no store")
		return nil
	}
	return store
}
