package record

import "gnvcc/cache"

// memoTranslation keeps translations by the hash of their PTX, for the ptxas stage of the same
// build, which runs long before anybody merges the spool.
const memoTranslation cache.Memos[cache.Translation] = "translation"

// LoadTranslation finds the cicc call that a PTX came from.
func LoadTranslation(store *cache.Store, ptxHash string) (cache.Translation, bool) {
	t, ok := memoTranslation.Get(store, ptxHash)
	if !ok || t.PTX != ptxHash {
		return cache.Translation{}, false
	}
	return t, true
}

// KeepTranslation keeps it for LoadTranslation.
func KeepTranslation(store *cache.Store, t cache.Translation) error {
	return memoTranslation.Put(store, t.PTX, t)
}
