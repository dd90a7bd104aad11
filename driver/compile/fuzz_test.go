package compile

import (
	"testing"

	"gnvcc/cache"
)

// FuzzCandidates reads candidates from a store in which somebody else could have written.
func FuzzCandidates(f *testing.F) {
	f.Add([]byte(`{"Cubin":"x","Entry":"k","MaxThreads":1024}`))
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
		if c, ok, err := New(store, t.TempDir()).kept(key); ok && (c == nil) == (err == nil) {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	})
}
