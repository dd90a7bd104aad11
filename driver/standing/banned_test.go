package standing

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"gnvcc/cache"
)

// TestBanned: who does not want spec's entries does not want known's.
func TestBanned(t *testing.T) {
	store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := store.Own(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for kernel, levers := range map[string][]string{"a": {"unroll", "spec"}, "b": {"unroll"}} {
		if err := o.Put(cache.Bans, BanKey(kernel), cache.Ban{Levers: levers}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(o.Publish(), o.Close()); err != nil {
		t.Fatal(err)
	}
	sn, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for kernel, want := range map[string][]string{"a": {"spec", "unroll"}, "b": {"unroll"}} {
		if got := Banned(sn, kernel, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", kernel, got, want)
		}
	}
}
