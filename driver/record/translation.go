package record

import "gnvcc/cache"

// A Translation is the record of a cicc call with what a second run of it needs besides.
type Translation struct {
	cache.Translation
	Source string // the user's file
	// content of the file of --module_id_file_name, which names of static symbols are made from; nvcc
	// removes it
	Module string
	Env    []string // what nvcc.profile set for cicc
}

// memoTranslation keeps translations by the hash of their PTX, for the ptxas stage of the same
// build, which runs long before anybody merges the spool.
const memoTranslation cache.Memos[Translation] = "translation"

// LoadTranslation finds the cicc call that a PTX came from.
func LoadTranslation(store *cache.Store, ptxHash string) (Translation, bool) {
	t, ok := memoTranslation.Get(store, ptxHash)
	if !ok || t.PTX != ptxHash {
		return Translation{}, false
	}
	return t, true
}

// Keep keeps it for LoadTranslation.
func (t Translation) Keep(store *cache.Store) error { return memoTranslation.Put(store, t.PTX, t) }
