package driver

import "gnvcc/cache"

// A translation is the record of a cicc call with what a second run of it needs besides.
type translation struct {
	cache.Translation
	Source string   // the user's file
	Module string   // content of the file of --module_id_file_name, which names of static symbols are made from; nvcc removes it
	Env    []string // what nvcc.profile set for cicc
}

// memoTranslation keeps translations by the hash of their PTX, for the ptxas stage of the same build, which runs long
// before anybody merges the spool.
const memoTranslation cache.Memos[translation] = "translation"

// loadTranslation finds the cicc call that a PTX came from.
func loadTranslation(store *cache.Store, ptxHash string) (translation, bool) {
	t, ok := memoTranslation.Get(store, ptxHash)
	if !ok || t.PTX != ptxHash {
		return translation{}, false
	}
	return t, true
}
