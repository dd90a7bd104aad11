package compile

import (
	"testing"

	"gnvcc/cache"
)

// FuzzCandidates reads candidates from a store in which somebody else could have written.
func FuzzCandidates(f *testing.F) {
	f.Add([]byte(`{"Value":{"Cubin":"x","Entry":"k","MaxThreads":1024}}`))
	f.Add([]byte(`{"Error":"ptxas: no"}`))
	store, err := cache.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	key := cache.Hash([]byte("key"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := store.PutMemo(string(memoCandidate), key, text); err != nil {
			t.Fatal(err)
		}
		k, ok := memoCandidate.Get(store, key)
		if ok && k.Error == "" && store.HasObject(k.Value.Cubin) {
			t.Errorf("%q: %v", text, k)
		}
	})
}
