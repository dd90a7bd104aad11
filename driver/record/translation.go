package record

import (
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
)

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

// KeepSources keeps the list of files that preprocessed code came from, and gives its hash.
func KeepSources(store *cache.Store, text []byte) (hash string, err error) {
	return store.PutObject([]byte(strings.Join(toolcmd.SourcesOf(string(text)), "\x00")))
}

// SourcesOf lists the files that a translation's input came from, none where that is not known.
func SourcesOf(store *cache.Store, t cache.Translation) []string {
	list, err := store.Object(t.Sources)
	if err != nil || len(list) == 0 {
		return nil
	}
	return strings.Split(string(list), "\x00")
}
