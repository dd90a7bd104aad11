package tuner

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
)

// TestDecisionsSideBySide: an approximate decision and an exact one, per GPU; the last word for
// a build takes what was approximated for it back, and for no other.
func TestDecisionsSideBySide(t *testing.T) {
	store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := OpenDecisions(context.Background(), store)
	if err != nil {
		t.Fatal(err)
	}
	b.approximate = true
	minute := 0
	decide := func(text, exactness, device string, files ...string) {
		t.Helper()
		minute++
		d := cache.Decision{Identity: "k", Recipe: text, Exactness: exactness, For: files,
			Time: time.Unix(int64(60*minute), 0)}
		d.Evidence.Device = device
		d.Evidence.Launches = []cache.Launch{{Count: 1}}
		if err := b.Decide(d); err != nil {
			t.Fatal(err)
		}
	}
	past := func(file, device, want string) {
		t.Helper()
		d := b.Past(&policy.Kernel{Identity: "k", For: []string{file}}, device)
		if d == nil || d.Recipe != want {
			t.Errorf("for %s on %s: %+v, want %s", file, device, d, want)
		}
	}
	decide("maxnreg=40", "construction", "H200", "/c/k.o")
	decide("approx=all", "approximate", "H200", "/a/k.o")
	decide("approx=div", "approximate", "H200", "/b/k.o")
	decide("maxnreg=48", "construction", "H100", "/b/k.o")
	for range 2 { // kept by this Decisions alone, then published
		past("/a/k.o", "H200", "approx=all")
		past("/b/k.o", "H200", "approx=div")
		past("/c/k.o", "H200", "maxnreg=40")
		past("/b/k.o", "H100", "maxnreg=48")
		if err := b.Publish(); err != nil {
			t.Fatal(err)
		}
		b.kept = nil
	}
	decide("maxnreg=56", "construction", "H200", "/a/")
	past("/a/k.o", "H200", "maxnreg=56")
	past("/b/k.o", "H200", "approx=div")
	if err := b.Publish(); err != nil {
		t.Fatal(err)
	}
	sn, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	all, err := sn.AllDecisions()
	if err != nil || len(all) != 3 {
		t.Errorf("%d decisions stand, want 3: %+v, %v", len(all), all, err)
	}
	b.approximate = false
	past("/b/k.o", "H200", "maxnreg=56")
}
