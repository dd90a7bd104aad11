package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/install/kits"
	"gnvcc/policy/tuner"
)

// TestForget: all that stands for a kernel goes, whatever GPU and build it is for, with its
// notebooks; nothing of another kernel does, also where one identity begins as another.
func TestForget(t *testing.T) {
	t.Setenv("GNVCC_NVCC", kits.Any(t).Nvcc())
	t.Setenv("GNVCC_STORE", t.TempDir())
	store, err := openStore()
	if err != nil {
		t.Fatal(err)
	}
	b, err := tuner.OpenDecisions(context.Background(), store)
	if err != nil {
		t.Fatal(err)
	}
	mine := strings.Repeat("0a", 32)
	for i, d := range []cache.Decision{
		{Kernel: "k", Identity: mine, Recipe: "maxnreg=40", Exactness: "construction",
			Evidence: cache.Evidence{Device: "H200"}},
		{Kernel: "k", Identity: mine, Recipe: "maxnreg=48", Exactness: "construction",
			Evidence: cache.Evidence{Device: "H100"}},
		{Kernel: "k", Identity: mine, Recipe: "approx=all", Exactness: "approximate",
			For: []string{"/a/k.o"}, Evidence: cache.Evidence{Device: "H200"}},
		{Kernel: "k", Identity: mine, Recipe: "", Exactness: "construction"},
		{Kernel: "other", Identity: mine + "0b", Recipe: "maxnreg=56", Exactness: "construction",
			Evidence: cache.Evidence{Device: "H200"}},
	} {
		d.Time = time.Unix(int64(60*i), 0)
		if err := b.Decide(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Publish(); err != nil {
		t.Fatal(err)
	}
	m := tuner.Memos{Store: store}
	notes := map[string]string{"a": mine, "b": mine, "c": mine + "0b", "machine": ""}
	for key, identity := range notes {
		text, _ := json.Marshal(map[string]any{"Identity": identity, "Done": true})
		if err := m.Remember(key, text); err != nil {
			t.Fatal(err)
		}
	}
	count := func() (decisions, notebooks int) {
		t.Helper()
		sn, err := store.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer sn.Close()
		if err := sn.Each(cache.Decisions, "", func(string, []byte) error { decisions++; return nil }); err != nil {
			t.Fatal(err)
		}
		for key := range notes {
			if _, ok := m.Recall(key); ok {
				notebooks++
			}
		}
		return decisions, notebooks
	}
	for _, step := range []struct {
		name                 string
		all, dry             bool
		decisions, notebooks int
	}{{"k", false, true, 5, 4}, {"k", false, false, 1, 2}, {"", true, true, 1, 2},
		{"", true, false, 0, 1}} {
		if err := forget(context.Background(), step.name, step.all, step.dry); err != nil {
			t.Fatal(err)
		}
		if d, n := count(); d != step.decisions || n != step.notebooks {
			t.Errorf("%+v: %d decisions and %d notebooks are left", step, d, n)
		}
	}
	if err := forget(context.Background(), "k", false, false); err == nil {
		t.Error("a kernel that nothing is known of is forgotten")
	}
}
